// Package commands is what the binaries share: how a command line is run, what its exit
// status is, and the flags that set keys of the configuration.
package commands
