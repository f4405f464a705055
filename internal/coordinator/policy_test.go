package coordinator

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// limited returns the test policy with another limit.
func limited(tokens string) string {
	return strings.ReplaceAll(testPolicy, "tokens: 1000", "tokens: "+tokens)
}

// watched starts a coordinator with a policy file.
func watched(t *testing.T, path string, change ...func(*Options)) *node {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(testPolicy), 0o600))
	return newRig(t, time.Second).start(append([]func(*Options){func(o *Options) {
		o.PolicyFile, o.PolicyName, o.PollPolicy = path, path, 5*time.Millisecond
	}}, change...)...).leads()
}

func (n *node) revision(want uint64) {
	n.t.Helper()
	eventually(n.t, "the policy is in force", func() bool { return n.status().PolicyRevision == want })
}

func TestANewPolicyReachesEveryHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	n := watched(t, path)
	h := n.join(identity("us", 1)).hello()
	h.want("k", 10)
	require.NoError(t, os.WriteFile(path, []byte(limited("500")), 0o600))
	require.ErrorIs(t, h.broken(), io.EOF, "the session ends in good order")
	again := n.join(h.id)
	assert.Equal(t, uint64(2), again.welcome.PolicyRevision)
	assert.Contains(t, string(again.welcome.Policy), "tokens: 500")
	again.hello().want("k", 10)
	eventually(t, "the change is logged", func() bool { return strings.Contains(n.log.String(), "limit cut") })
	assert.Equal(t, "2", n.metric("leasehold_policy_revision"))

	require.NoError(t, os.WriteFile(path, []byte(testPolicy), 0o600))
	n.revision(3) // back to what it was: an operator asked for it
}

// TestEveryWayToReplaceAFile is field case CFG-07.
func TestEveryWayToReplaceAFile(t *testing.T) {
	write := func(t *testing.T, path, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	for name, replace := range map[string]func(t *testing.T, path, text string){
		"in place": write,
		"rename": func(t *testing.T, path, text string) {
			write(t, path+".new", text)
			require.NoError(t, os.Rename(path+".new", path))
		},
		"symlink swapped": func(t *testing.T, path, text string) {
			write(t, path+".data", text)
			require.NoError(t, os.Symlink(path+".data", path+".link"))
			require.NoError(t, os.Rename(path+".link", path))
		},
		"deleted and made": func(t *testing.T, path, text string) {
			require.NoError(t, os.Remove(path))
			write(t, path, text)
		},
		"two at once": func(t *testing.T, path, text string) {
			write(t, path, limited("7"))
			write(t, path, text)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "policy.yaml")
			n := watched(t, path)
			replace(t, path, limited("500"))
			eventually(t, "it is applied", func() bool {
				st := n.status()
				return st.PolicyRevision >= 2 && !st.PolicyPending && strings.Contains(string(n.server.term.Load().inForce.Load().canonical), "tokens: 500")
			})
		})
	}
	t.Run("SIGHUP", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "policy.yaml")
		hangups := make(chan os.Signal)
		n := watched(t, path, func(o *Options) { o.PollPolicy, o.Reload = time.Hour, hangups })
		hangups <- os.Interrupt
		eventually(t, "it is said that nothing changed", func() bool { return strings.Contains(n.log.String(), "the policy file has not changed") })
		write(t, path, limited("500"))
		hangups <- os.Interrupt
		n.revision(2)
	})
}

func TestABadPolicyChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	n := watched(t, path)
	for _, c := range []struct{ name, text, want string }{
		{"not YAML", "{", path + ":1:1: "},
		{"unknown field", strings.Replace(testPolicy, "limit:", "limits:", 1), path + ":6:5: "},
		{"another algorithm under the same name", strings.Replace(limited("500"), ", burst: 1000", ", algorithm: fixed_window", 1), path + ":4:5: quota"},
		{"gone", "", "the policy file cannot be read"},
	} {
		if c.text == "" {
			require.NoError(t, os.Remove(path))
		} else {
			require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
		}
		eventually(t, c.name+" is said with its place", func() bool { return strings.Contains(n.log.String(), c.want) })
		st := n.status()
		assert.Equal(t, uint64(1), st.PolicyRevision)
		assert.NotEmpty(t, st.ReloadError)
		require.NotNil(t, st.ReloadErrorAt)
		assert.WithinDuration(t, time.Now(), *st.ReloadErrorAt, patience)
		body, _ := n.get("/readyz?verbose")
		assert.Regexp(t, `policy: what was read at \S+ is refused: .*`+regexp.QuoteMeta(strings.TrimPrefix(c.want, "the policy file cannot be read")), body)
	}
	before := strings.Count(n.log.String(), "is refused")
	require.NoError(t, os.WriteFile(path, []byte(limited("500")), 0o600))
	n.revision(2)
	assert.Equal(t, before, strings.Count(n.log.String(), "is refused"), "each is said once")
	st := n.status()
	assert.Empty(t, st.ReloadError)
	assert.Nil(t, st.ReloadErrorAt)
	assert.Equal(t, "3", n.metric(`leasehold_coordinator_policy_reloads_total{result="refused"}`))
	assert.Equal(t, "1", n.metric(`leasehold_coordinator_policy_reloads_total{result="accepted"}`))
}

// TestAnOldPolicyFileDoesNotComeBack starts a coordinator with a policy that was
// replaced before.
func TestAnOldPolicyFileDoesNotComeBack(t *testing.T) {
	r := newRig(t, time.Second)
	with := func(text string) *node { return r.start(func(o *Options) { o.Policy = []byte(text) }).leads() }
	n := with(testPolicy)
	n.stop()
	require.NoError(t, n.ended())
	n = with(limited("500"))
	assert.Equal(t, uint64(2), n.status().PolicyRevision)
	n.stop()
	require.NoError(t, n.ended())
	n = with(testPolicy)
	st := n.status()
	assert.Equal(t, uint64(2), st.PolicyRevision)
	assert.True(t, st.PolicyPending)
	assert.Contains(t, n.log.String(), "a policy that was replaced before")
	body, _ := n.get("/readyz?verbose")
	assert.Contains(t, body, "the file's is not in force: it was replaced before")
	n.stop()
	require.NoError(t, n.ended())
	n = with(strings.Replace(testPolicy, ", burst: 1000", ", algorithm: fixed_window", 1))
	assert.Equal(t, uint64(2), n.status().PolicyRevision)
	assert.Contains(t, n.log.String(), "the policy file is refused, the stored policy is enforced")
}

// TestACommentBringsNoOldLimitBack has a coordinator lead with a file that was
// replaced before: what only looks new in it changes nothing, and SIGHUP says
// what is in force and why.
func TestACommentBringsNoOldLimitBack(t *testing.T) {
	r := newRig(t, time.Second)
	for _, text := range []string{testPolicy, limited("500")} {
		n := r.start(func(o *Options) { o.Policy = []byte(text) }).leads()
		n.stop()
		require.NoError(t, n.ended())
	}
	path := filepath.Join(t.TempDir(), "policy.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	write(testPolicy)
	hangups := make(chan os.Signal)
	n := r.start(func(o *Options) {
		o.PolicyFile, o.PolicyName, o.PollPolicy, o.Reload = path, path, time.Hour, hangups
	}).leads()
	says := func(what string) {
		t.Helper()
		hangups <- os.Interrupt
		eventually(t, what, func() bool { return strings.Contains(n.log.String(), what) })
	}
	assert.Equal(t, uint64(2), n.status().PolicyRevision)
	says("the stored policy is in force instead")
	write("# nothing new\n" + testPolicy)
	says("means the same as before")
	st := n.status()
	assert.Equal(t, uint64(2), st.PolicyRevision, "the old limit does not come back")
	assert.True(t, st.PolicyPending)
	assert.Contains(t, st.PolicyWhy, "replaced before")

	write("{")
	says("the new policy is refused")
	says("has not changed since it was refused")
	write(limited("500"))
	hangups <- os.Interrupt
	eventually(t, "the file's is in force", func() bool { st := n.status(); return !st.PolicyPending && st.ReloadError == "" && st.PolicyWhy == "" })
	assert.Equal(t, uint64(2), n.status().PolicyRevision)
	write(testPolicy)
	hangups <- os.Interrupt
	n.revision(3) // an operator asked for it
}

func TestAFileThatIsBeingWrittenIsLeftAlone(t *testing.T) {
	contents := []string{"a", "ab", "ab", "ab", "abc"}
	w := &watcher{last: []byte("old"), read: func(string) ([]byte, error) {
		next := contents[0]
		contents = contents[1:]
		return []byte(next), nil
	}}
	_, _, err := w.changed() // a, then ab
	require.ErrorIs(t, err, errUnsteady)
	data, news, err := w.changed() // ab twice
	require.NoError(t, err)
	assert.True(t, news)
	assert.Equal(t, "ab", string(data))

	w.read = func(string) ([]byte, error) { return []byte("ab"), nil }
	_, news, err = w.changed()
	require.NoError(t, err)
	assert.False(t, news)
	w.read = func(string) ([]byte, error) { return nil, fs.ErrNotExist }
	_, _, err = w.changed()
	require.ErrorIs(t, err, fs.ErrNotExist)
}
