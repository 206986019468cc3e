// Package page holds the web page that percached serves.
//
// Purpose: Index returns the page, Named its other files, and Policy the
// Content-Security-Policy that they work under. The page calls the public HTTP interface only.
// It takes the token from the address's fragment or from its input field. There is no build
// step: these files are served as they are.
//
// Invariants: the page loads everything from the daemon, so it works offline. Its HTML contains
// no inline script, style or handler. Documents, questions and answers are shown as text, never
// as HTML. The files contain no user data, because everybody may read them.
//
// Goroutines: none.
//
// State on disk: none. The browser keeps the token until the tab is closed, and permanently the
// theme, the last space and dismissed hints.
package page
