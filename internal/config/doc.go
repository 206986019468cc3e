// Package config is how percached is set: one struct, and one table of the keys that
// set its fields. A file, the environment, flags and requests at run time all go by
// that table. To add a key, add a field to Config, a row to the table in keys.go and a
// row to docs/configuration.md; a test compares the two.
package config
