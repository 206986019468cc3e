module github.com/percached/percached

go 1.26
