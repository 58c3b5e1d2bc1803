// Package bulkkills kills workers in the middle of a bulk operation. At its end the request was made of each task of the frozen set once, and of no
// other.
//
// The long form stops 100,000 tasks; see package prove.
package bulkkills
