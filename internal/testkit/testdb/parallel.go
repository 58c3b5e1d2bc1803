package testdb

import (
	"flag"
	"strconv"
)

// Parallel lets n tests of a package run at once, unless the flag -parallel is
// given. TestMain calls it where the tests wait for a database most of the time, so
// that more of them than there are processors take less time in all.
func Parallel(n int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
			panic(err)
		}
	}
}
