// Package shape declares types for a spec of another package.
package shape

// Circle nests types of its own.
type Circle struct {
	Center Point   `json:"center"`
	Radius float64 `json:"radius"`
	// Pair is another type of the name.
	Pair Pair `json:"pair"`
}

// Point is a place.
type Point struct {
	X int32 `json:"x"`
	Y int32 `json:"y"`
}

// Pair has the name of a type of the corpus.
type Pair struct {
	A bool `json:"a"`
}
