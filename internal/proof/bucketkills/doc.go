// Package bucketkills processes a table in 16 buckets with four worker processes, of which two
// are killed in the middle. Each row must be processed once, whatever its value, each bucket
// be there once, and the parent end after its children. In the everyday form there are a few
// rounds, in the long form a hundred on each database.
package bucketkills
