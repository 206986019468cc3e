// Package models holds the default language model and embedding model that are
// built into the binary, so that percached works without a download.
//
// Not built yet: this package holds nothing, and percached has no model of its
// own.
package models
