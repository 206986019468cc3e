// Package nodetest gives tests a data folder with letters in it: short invented mails that
// say who leads what, what it costs and what its code is.
package nodetest
