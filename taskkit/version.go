package taskkit

// Version is the version of this package, as a worker writes it into its row.
const Version = "0.1.0"

// IsAtLeastVersion0_1_0 exists so that code generated for this version fails to
// compile against an older one. See the head of a generated file.
const IsAtLeastVersion0_1_0 = true
