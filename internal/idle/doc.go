// Package idle is the work that is done while nobody asks: it joins the
// scheduler, which says when and what first, with the layers in which there is
// something to do.
//
// Purpose: Worker.Due finds out what work of a kind a space has, from what its
// layers hold; Worker.Do does one piece of it. Check tells the predictor which
// questions are known already or cannot be answered.
//
// Invariants: what is due follows from what is stored, so that nothing is lost
// with the queue; a job whose work is done already does nothing. All of it is
// computed in the background and gives way to a question. Tensors made here never
// push out what a person used since. Nothing is stored of a chunk that went
// meanwhile.
//
// Goroutines: none.
//
// State on disk: none of its own.
package idle
