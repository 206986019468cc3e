// Package eval measures percached from outside: how good the answers are, how
// fast they come, how much is reused. It speaks to a running percached through
// api/client and sees nothing else of it.
//
// Not built yet: this package holds nothing.
package eval
