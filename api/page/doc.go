// Package page is what percached shows a person in a browser: one page and the
// files that it is made of.
//
// Purpose: Index is the page, Named gives its files, and Policy is the
// Content-Security-Policy under which they work. The page calls the public
// interface alone, with the token that it is given in the address's fragment or
// in its field. There is no build step: what lies here is what is served.
//
// Invariants: nothing of the page comes from another place than the daemon, so it
// works offline. No script, style or handler stands in its HTML. What stands in
// documents, questions and answers is shown as text, never as HTML. No data of
// anybody is in these files: they are served to all.
//
// Goroutines: none.
//
// State on disk: none. The browser keeps the token for the tab; beyond it the theme,
// the name of the last used space, and that a hint was read.
package page
