// Package version identifies this binary: the version of its module, and the commit that it was
// built from.
package version
