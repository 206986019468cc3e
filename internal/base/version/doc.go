// Package version says which percached this binary is: the version of its module, and
// the commit it was built from.
package version
