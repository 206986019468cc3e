// Package prompt asks at a terminal for secrets, such as passwords. The terminal does not show
// what is typed.
package prompt
