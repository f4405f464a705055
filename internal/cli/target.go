package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// coordinatorHTTP is the address at which a coordinator serves HTTP by default.
const coordinatorHTTP = "http://127.0.0.1:7401"

// target is whom a command asks over HTTP: coordinators, of which one leads, or one region.
type target struct {
	coordinators []string
	region       string
	timeout      time.Duration
}

// register adds the flags. Regional processes and coordinators have flags of the same names that mean something
// else, and a shell beside one may have its environment: only the command's own variables count.
func (t *target) register(f *pflag.FlagSet) {
	f.StringSliceVar(&t.coordinators, "coordinator", []string{coordinatorHTTP}, "HTTP `addresses` of coordinators, separated by commas; the one that leads is asked")
	f.StringVar(&t.region, "region", "", "HTTP `address` of a region's process to ask instead, which tells of itself alone")
	f.DurationVar(&t.timeout, "timeout", 5*time.Second, "`time` that each of them may take to answer")
	ownVariable(f, "coordinator", "region")
}

// check puts the addresses into one form.
func (t *target) check() (err error) {
	if t.timeout <= 0 {
		return Usagef("--timeout %v: must be above 0", t.timeout)
	}
	if t.region != "" {
		t.region, err = base(t.region)
		return WithCode(Usage, prefix("--region", err))
	}
	if len(t.coordinators) == 0 {
		return Usagef("--coordinator: names no address")
	}
	for i, c := range t.coordinators {
		if t.coordinators[i], err = base(c); err != nil {
			return WithCode(Usage, prefix("--coordinator", err))
		}
	}
	return nil
}

// oneOf refuses more than one of some flags.
func oneOf(cmd *cobra.Command, names ...string) error {
	var given []string
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			given = append(given, "--"+name)
		}
	}
	if len(given) > 1 {
		return Usagef("%s: give one of them", strings.Join(given, " and "))
	}
	return nil
}

// base returns the URL below which a process serves HTTP.
func base(address string) (string, error) {
	text := strings.TrimSpace(address)
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("%q is not an address such as 127.0.0.1:7401 or http://127.0.0.1:7401", address)
	}
	return strings.TrimSuffix(u.String(), "/"), nil
}

func prefix(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// answer is what somebody answered.
type answer[T any] struct {
	body T
	from string // whom it is from, as a URL
	// follows says that it is of a coordinator that does not lead, and that none of those that were asked does;
	// leader is then the gRPC address of the one that leads, if that is known.
	follows bool
	leader  string
	// vain is what went wrong with those that were asked before.
	vain error
}

// ask gets an answer from the region, or from the first coordinator that leads, else from the first that answers.
func ask[T any](ctx context.Context, t *target, path string, query url.Values, leads func(*T) bool) (*answer[T], error) {
	if t.region != "" {
		a := &answer[T]{from: t.region}
		err := t.get(ctx, t.region, path, query, &a.body)
		if Code(err) != Usage {
			err = prefix("region "+t.region, err)
		}
		return a, err
	}
	var follower *answer[T]
	var vain []error
	for _, address := range t.coordinators {
		a := &answer[T]{from: address}
		err := t.get(ctx, address, path, query, &a.body)
		switch {
		case Code(err) == Usage:
			return nil, err // the others would say the same
		case err != nil:
			vain = append(vain, prefix("coordinator "+address, err))
		case leads(&a.body):
			a.vain = errors.Join(vain...)
			return a, nil
		default:
			follower = cmp.Or(follower, a)
		}
	}
	if follower == nil {
		return nil, errors.Join(vain...)
	}
	var status struct {
		Leader string `json:"leader"`
	}
	if err := t.get(ctx, follower.from, "/v1/status", nil, &status); err != nil {
		vain = append(vain, prefix("coordinator "+follower.from, err))
	}
	follower.follows, follower.leader, follower.vain = true, status.Leader, errors.Join(vain...)
	return follower, nil
}

// maxAnswer bounds an answer in bytes, above what the largest policy could make.
const maxAnswer = 256 << 20

// get gets one body. A question that is refused is a usage error, with what the other side says.
func (t *target) get(ctx context.Context, address, path string, query url.Values, into any) error {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, address+path, http.NoBody)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}}
	a, err := client.Do(q)
	if err != nil {
		var of *url.Error
		if errors.As(err, &of) {
			err = of.Err // the address is said already
		}
		if ctx.Err() != nil {
			err = fmt.Errorf("no answer within %v: %w", t.timeout, err)
		}
		return err
	}
	defer a.Body.Close()
	body, err := io.ReadAll(io.LimitReader(a.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("reading the answer: %w", err)
	case len(body) > maxAnswer:
		return fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	case a.StatusCode != http.StatusOK:
		return refusal(a, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("the answer to %s is not what this version knows: %w", path, err)
	}
	return nil
}

// refusal says in words what another status than 200 means.
func refusal(a *http.Response, body []byte) error {
	err := fmt.Errorf("it answers %s", a.Status)
	var problem struct {
		Detail string `json:"detail"`
	}
	kind, _, parse := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if parse == nil && kind == "application/problem+json" && json.Unmarshal(body, &problem) == nil && problem.Detail != "" {
		err = fmt.Errorf("%w: %s", err, problem.Detail)
		if a.StatusCode == http.StatusBadRequest {
			return refusedf("%s", problem.Detail)
		}
	}
	return err
}
