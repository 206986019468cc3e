// Package demo shows what percached does on an invented inbox: it starts a daemon, adds
// the mails, asks, predicts, asks again and deletes a mail.
package demo
