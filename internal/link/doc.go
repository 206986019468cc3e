// Package link is how commands talk to percached: the link to a daemon, or to a data
// folder that the command itself has opened, and the file in which a daemon says where
// it listens.
package link
