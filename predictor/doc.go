// Package predictor guesses what the user will ask, from abstracts of the
// documents and from the questions asked so far, so that answers and tensors
// are ready before the question comes.
//
// Not built yet: this package holds nothing.
package predictor
