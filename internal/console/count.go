package console

import (
	"fmt"
	"strings"
)

// thousands returns a whole number with a comma before each three digits: 31,880.
func thousands(n any) string {
	digits := fmt.Sprint(n)
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return sign + digits
}
