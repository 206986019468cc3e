// Package demo demonstrates percached on an invented inbox: it starts a daemon, adds
// the mails, asks, predicts, asks again and deletes a mail.
package demo
