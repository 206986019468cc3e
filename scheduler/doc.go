// Package scheduler decides which idle work is worth doing now: it knows when
// the device is idle, what each job costs and saves, and it stops at once when
// the user asks something.
//
// Not built yet: this package holds nothing.
package scheduler
