package access

import "strings"

// minDistinct is the minimum of different characters in a password.
const minDistinct = 5

// commonParts are the words and rows of keys that common passwords of twelve characters and more consist of. A list of
// the 10,000 most common passwords has fewer than a hundred that are so long, nearly all made of these.
var commonParts = strings.Fields(`
	password passwort passw admin administrator root user login welcome letmein changeme secret default master test
	guest access iloveyou love you princess sunshine monkey dragon football baseball basketball superman batman
	starwars pokemon minecraft liverpool chelsea whatever trustno hello mypassword thisis my new
	muster gamelift server
	qwertyuiop qwerty qwert asdfghjkl asdfgh asdf zxcvbnm zxcvbn zxcv qazwsxedc qazwsx edcrfv tgbyhn qaz wsx edc
	abcdefghijkl abcdefgh abcdef abcd abc xyz aaaa`)

// likeLetters are digits and signs that are often written for letters.
var likeLetters = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "@", "a", "$", "s", "5", "s", "!", "i")

// isGuessable reports whether a password has hardly any different characters, or consists of common words, rows of keys
// and digits alone.
func isGuessable(password string) bool {
	lower := strings.ToLower(password)
	distinct := map[rune]bool{}
	for _, r := range lower {
		distinct[r] = true
	}
	return len(distinct) < minDistinct || onlyCommon(letters(lower)) ||
		onlyCommon(letters(likeLetters.Replace(strings.TrimFunc(lower, func(r rune) bool { return !isLetter(r) }))))
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r > 127 }

// letters returns the letters of a text: years, counters and punctuation add little.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if isLetter(r) {
			return r
		}
		return -1
	}, text)
}

// onlyCommon reports whether a text is a sequence of common parts; "" is one.
func onlyCommon(text string) bool {
	reached := make([]bool, len(text)+1) // by a sequence of parts
	reached[0] = true
	for i := range len(text) {
		if !reached[i] {
			continue
		}
		for _, part := range commonParts {
			if strings.HasPrefix(text[i:], part) {
				reached[i+len(part)] = true
			}
		}
	}
	return reached[len(text)]
}
