// Package machine says what machine this process runs on, and how much memory it may use.
package machine
