package main

import "strings"

// similarCommand returns the command that was most likely meant, "" if none is like the text.
func similarCommand(text string) string {
	const maxEdits = 2
	best, least := "", maxEdits+1
	for _, command := range commands() {
		edits := editDistance(text, command.name)
		if edits >= len(command.name) {
			continue // nothing of it is left
		}
		if len(text) > maxEdits && strings.HasPrefix(command.name, text) {
			edits = 0
		}
		if edits < least {
			best, least = command.name, edits
		}
	}
	return best
}

// editDistance is Levenshtein's: how many bytes must be put in, taken out or replaced to make one text the other.
func editDistance(a, b string) int {
	distances := make([]int, len(b)+1) // from what was read of a to each beginning of b
	for j := range distances {
		distances[j] = j
	}
	for i := range len(a) {
		diagonal := distances[0]
		distances[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = distances[j+1]
			distances[j+1] = min(replaced, distances[j]+1, diagonal+1)
		}
	}
	return distances[len(b)]
}
