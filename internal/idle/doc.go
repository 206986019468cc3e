// Package idle does background work while the user asks nothing. It connects the
// scheduler, which decides when and in which order, with the layers that have work.
//
// Purpose: Worker.Due finds the due work of a kind in a space; Worker.Do does one job.
// Check tells the predictor which questions are already known or cannot be answered.
//
// Invariants: due work is derived from what is stored, so losing the queue loses no work,
// and a job whose work is already done does nothing. All computing has background
// priority and yields to user requests. Tensors made here never evict those that a user
// used since. Nothing is stored about a chunk deleted meanwhile.
//
// Goroutines: none.
//
// State on disk: none of its own.
package idle
