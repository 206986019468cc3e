// Package link sends the requests of commands to percached: to a daemon, or to a data folder
// that the command itself has opened. It also reads the file with the address of a daemon.
package link
