// Command percached-eval measures percached: it runs systems on data sets, reports tables
// and figures, times the parts on this machine, and simulates months of use.
//
// Users do not need it. It links plotting and data set libraries that percached does not.
package main
