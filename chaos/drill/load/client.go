package load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/a1009580/leasehold/policy"
)

// client asks one region by HTTP.
type client struct {
	url  string
	body []byte
	http *http.Client
}

// newClient returns a client of the region at an address. Every request is the
// same.
func newClient(address, domain string, descriptor []policy.Pair, cost int64) (*client, error) {
	entries := make(map[string]string, len(descriptor))
	for _, p := range descriptor {
		entries[p.Key] = p.Value
	}
	body, err := json.Marshal(struct {
		Domain     string            `json:"domain"`
		Descriptor map[string]string `json:"descriptor"`
		Cost       int64             `json:"cost"`
	}{domain, entries, cost})
	if err != nil {
		return nil, fmt.Errorf("load: the request: %w", err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: mostUnderWay, DisableCompression: true}
	return &client{url: "http://" + address + "/v1/check", body: body, http: &http.Client{Transport: transport}}, nil
}

// ask sends one request.
func (c *client) ask(ctx context.Context) (Outcome, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(c.body))
	if err != nil {
		return Failed, err
	}
	q.Header.Set("Content-Type", "application/json")
	answer, err := c.http.Do(q)
	if err != nil {
		return Failed, err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return Failed, err
	}
	switch answer.StatusCode {
	case http.StatusOK:
		return Admitted, nil
	case http.StatusTooManyRequests:
		return Denied, nil
	}
	return Failed, fmt.Errorf("status %s", answer.Status)
}
