// Package csvcell writes texts into the cells of CSV files that spreadsheets open, and reads them back.
package csvcell

import "regexp"

// formula matches what a spreadsheet takes for a formula, in ASCII or full-width, also behind quotes and spaces.
var formula = regexp.MustCompile(`^['" ]*[=+\-@\t\r\n＝＋－＠]`)

// Write returns the cell of a text: with an apostrophe before it if a spreadsheet would take it for a formula.
func Write(text string) string {
	if formula.MatchString(text) {
		return "'" + text
	}
	return text
}

// Read returns the text of a cell that [Write] returned.
func Read(cell string) string {
	if len(cell) > 0 && cell[0] == '\'' && formula.MatchString(cell[1:]) {
		return cell[1:]
	}
	return cell
}
