// Package gate decides whether a stored answer is served for a question in other words,
// within the share of wrong answers that the user accepts, and learns from checked answers.
package gate
