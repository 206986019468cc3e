// Package nodetest gives tests a data folder with letters: short invented mails that name
// the leader, the budget and the code of a project.
package nodetest
