package e2e

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// nginx starts the real one with the configuration of examples/nginx, of which
// nothing but the addresses is changed, before a region. It returns its address.
func nginx(t *testing.T, region *node) string {
	t.Helper()
	addresses, dir := ports(t, 2), t.TempDir()
	for _, file := range []string{"nginx.conf", "check.conf"} {
		text := readFile(t, filepath.Join("..", "examples", "nginx", file))
		if file == "nginx.conf" {
			for from, to := range map[string]string{
				"127.0.0.1:7501": region.http, "listen 127.0.0.1:8080": "listen " + addresses[0], "127.0.0.1:8081": addresses[1],
			} {
				require.Contains(t, text, from)
				text = strings.ReplaceAll(text, from, to)
			}
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	require.NoError(t, os.Chmod(dir, 0o755)) // its workers may be of another user
	p := &process{
		t: t, name: "nginx", path: program(t, "nginx", "nginx-light"), args: []string{"-p", dir + "/", "-c", "nginx.conf", "-e", "stderr"},
		log: &output{}, out: &output{},
	}
	p.launch()
	t.Cleanup(func() {
		p.signal(syscall.SIGTERM) // which ends its workers too
		assert.Zero(t, p.exit())
		if t.Failed() {
			t.Logf("nginx said at last:\n%s", tail(p.log.String(), 40))
		}
	})
	eventually(t, "nginx serves", func() bool {
		code, _, _ := through(t, addresses[0], http.MethodGet, "/open/", nil, "")
		return code == http.StatusOK
	})
	return addresses[0]
}

// through sends a request, and returns what came; the code is 0 when nobody
// answers.
func through(t *testing.T, address, method, path string, headers map[string]string, body string) (int, http.Header, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, strings.NewReader(body))
	require.NoError(t, err)
	for name, value := range headers {
		q.Header.Set(name, value)
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		return 0, nil, err.Error()
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	require.NoError(t, err)
	return a.StatusCode, a.Header, string(bytes.TrimSpace(text))
}

func TestNginxAsksBeforeItServes(t *testing.T) {
	region := limited(t, readFile(t, "../examples/web.yaml"))
	address := nginx(t, region)
	ask := func(key string, more ...string) (int, http.Header, string) {
		headers := map[string]string{"X-Api-Key": key}
		for i := 0; i < len(more); i += 2 {
			headers[more[i]] = more[i+1]
		}
		return through(t, address, http.MethodPost, "/", headers, "a body")
	}

	served, denied := 0, 0
	for denied == 0 {
		code, h, body := ask("k")
		assert.Equal(t, `"per-client";q=60;w=60`, h.Get("RateLimit-Policy"))
		assert.Contains(t, h.Get("RateLimit"), `"per-client";r=`)
		switch code {
		case http.StatusOK:
			assert.Equal(t, "served", body)
			assert.Empty(t, h.Get("Retry-After"))
			served++
			require.Less(t, served, 1000, "60 a minute, 30 at once")
		case http.StatusTooManyRequests:
			after, err := strconv.Atoi(h.Get("Retry-After"))
			require.NoError(t, err)
			assert.Positive(t, after)
			assert.Equal(t, "application/problem+json", h.Get("Content-Type"))
			assert.Contains(t, body, `"status":429`)
			denied++
		default:
			require.Failf(t, "neither served nor denied", "%d %s", code, body)
		}
	}
	assert.Positive(t, served)

	code, _, body := ask("another")
	assert.Equal(t, http.StatusOK, code, body)
	code, _, body = through(t, address, http.MethodGet, "/", nil, "")
	assert.Equal(t, http.StatusOK, code, "without a key it is the address that is limited: %s", body)

	// A client of whom no token is left stays denied whatever it sends along.
	cost := func(n string) int {
		code, _ := region.get("/v1/check?domain=web&cost=" + n + "&client=key%20empty")
		return code
	}
	require.Equal(t, http.StatusOK, cost("25"))
	require.Equal(t, http.StatusTooManyRequests, cost("20"), "of 30 are fewer than 20 left, and 20 seconds are long")
	for i := range 12 {
		code, _, body := ask("empty", "X-Leasehold-Descriptor-client", "key "+strconv.Itoa(i), "X-Leasehold-Descriptor-cost", "0", "Cost", "0")
		assert.Contains(t, []int{http.StatusOK, http.StatusTooManyRequests}, code, body)
	}
	assert.Equal(t, http.StatusTooManyRequests, cost("20"))
	for i := range 12 { // nobody was charged under the names that were sent along
		code, body := region.get("/v1/check?domain=web&cost=25&client=key%20" + strconv.Itoa(i))
		assert.Equal(t, http.StatusOK, code, body)
	}
}

// TestKEY01_NginxTakesOddKeysOrRefusesThem is about keys that a client chooses:
// none may end with a 5xx.
func TestKEY01_NginxTakesOddKeysOrRefusesThem(t *testing.T) {
	address := nginx(t, limited(t, readFile(t, "../examples/web.yaml")))
	for key, want := range map[string]int{
		"a/b": 200, "a:b": 200, "../x": 200, "a&cost=0": 200, "a?b": 200, "%00": 200, strings.Repeat("k", 256): 200,
		"a b": 400, "\u00e9": 400, "\xff\xfe": 400, "a\tb": 400, strings.Repeat("k", 257): 400, strings.Repeat("k", 2000): 400,
	} {
		code, _, body := through(t, address, http.MethodGet, "/", map[string]string{"X-Api-Key": key}, "")
		assert.Equal(t, want, code, "%.20q: %s", key, body)
	}
}

// TestNginxFailsAsItWasTold has no region to ask.
func TestNginxFailsAsItWasTold(t *testing.T) {
	region := limited(t, readFile(t, "../examples/web.yaml"))
	address := nginx(t, region)
	region.kill()
	headers := map[string]string{"X-Api-Key": "k"}
	code, h, body := through(t, address, http.MethodGet, "/", headers, "")
	assert.Equal(t, http.StatusServiceUnavailable, code, body)
	assert.Equal(t, "1", h.Get("Retry-After"))
	code, _, body = through(t, address, http.MethodGet, "/open/", headers, "")
	assert.Equal(t, http.StatusOK, code)
	assert.Equal(t, "served", body)

	region.launch()
	region.ready()
	for _, path := range []string{"/", "/open/"} {
		eventually(t, "nginx denies again at "+path, func() bool {
			code, _, _ := through(t, address, http.MethodGet, path, headers, "")
			return code == http.StatusTooManyRequests
		})
	}
}
