package report_test

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestColorsCanBeToldApart holds the colors of all three themes to the contrast
// that WCAG 2.1 asks for: 4.5 to 1 for text (1.4.3), 3 to 1 for what figures are
// drawn with (1.4.11).
func TestColorsCanBeToldApart(t *testing.T) {
	css, err := os.ReadFile("html/style.css")
	require.NoError(t, err)
	themes := strings.Split(string(css), ":root {")[1:]
	require.Len(t, themes, 3, "light, dark and paper")
	for i, theme := range themes {
		theme, _, _ = strings.Cut(theme, "}")
		colors := map[string]float64{}
		for _, m := range regexp.MustCompile(`--([a-z]+): (#[0-9a-f]+)`).FindAllStringSubmatch(theme, -1) {
			colors[m[1]] = luminance(t, m[2])
		}
		for least, names := range map[float64][]string{
			4.5: {"ink", "soft", "pass", "fail", "unsure", "band"},
			3:   {"admitted", "denied", "failed", "leased", "stranded"},
		} {
			for _, name := range names {
				require.Contains(t, colors, name)
				require.GreaterOrEqual(t, contrast(colors[name], colors["paper"]), least, "theme %d: %s on paper", i, name)
			}
		}
		for _, name := range []string{"ink", "soft"} {
			require.GreaterOrEqual(t, contrast(colors[name], colors["wash"]), 4.5, "theme %d: %s on wash", i, name)
		}
	}
}

// luminance is the relative luminance of a color, as WCAG 2.1 defines it.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	digits := strings.TrimPrefix(hex, "#")
	if len(digits) == 3 {
		digits = string([]byte{digits[0], digits[0], digits[1], digits[1], digits[2], digits[2]})
	}
	require.Len(t, digits, 6, hex)
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(digits[2*i:2*i+2], 16, 8)
		require.NoError(t, err)
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

func contrast(a, b float64) float64 {
	return (max(a, b) + 0.05) / (min(a, b) + 0.05)
}
