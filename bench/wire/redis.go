package wire

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// tokenBucket is the usual token bucket of Redis: the level and when it stood in
// a hash, refilled by the server's clock, in one script, so that it is atomic.
var tokenBucket = redis.NewScript(`
local state = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local rate, burst, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local tokens = tonumber(state[1] or burst)
tokens = math.min(burst, tokens + (now - tonumber(state[2] or now)) * rate)
local admitted = tokens >= cost
if admitted then tokens = tokens - cost end
redis.call('HSET', KEYS[1], 'tokens', tokens, 'at', now)
redis.call('EXPIRE', KEYS[1], 60)
return admitted and 1 or 0
`)

// bucketArgs are its rate, burst and cost.
var bucketArgs = []any{1_000_000_000, 1_000_000_000, 1}

// askRedis decides about one key.
func askRedis(ctx context.Context, c *redis.Client, key string) error {
	admitted, err := tokenBucket.EvalSha(ctx, c, []string{key}, bucketArgs...).Int()
	if err == nil && admitted != 1 {
		err = fmt.Errorf("wire: Redis denied %s", key)
	}
	return err
}

// askRedisAll decides about many keys in one pipeline.
func askRedisAll(ctx context.Context, c *redis.Client, keys []string) error {
	answers, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, k := range keys {
			tokenBucket.EvalSha(ctx, p, []string{k}, bucketArgs...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, a := range answers {
		if admitted, err := a.(*redis.Cmd).Int(); err != nil || admitted != 1 { //nolint:errcheck // EvalSha's
			return fmt.Errorf("wire: Redis denied %s: %w", keys[i], err)
		}
	}
	return nil
}
