// Package budget computes how much memory and disk space percached takes on a machine, and from
// that the length of the context and the limit of the stored tensors.
//
// It is arithmetic alone: what the machine has is passed in, and so is the time. Bytes are int64;
// a negative amount is unknown.
package budget
