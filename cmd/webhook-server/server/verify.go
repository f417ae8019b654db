// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"sync"
	"time"

	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
)

const (
	minNonce, maxNonce = 16, 128
	sweepEvery         = time.Minute
)

type seal struct {
	stamp, nonce string
	timestamp    time.Time
	signature    []byte
}

// readSeal checks the signature headers before the body is read.
func (h *handler) readSeal(request *http.Request) (seal, error) {
	now := h.config.Now()
	stamp, nonce, signature := request.Header.Get(protocol.HeaderTimestamp), request.Header.Get(protocol.HeaderNonce),
		request.Header.Get(protocol.HeaderSignature)
	if stamp == "" || nonce == "" || signature == "" {
		return seal{}, protocol.Refuse(protocol.CodeAuthFailed, "the request is not signed: %s, %s and %s are needed",
			protocol.HeaderTimestamp, protocol.HeaderNonce, protocol.HeaderSignature)
	}
	if len(nonce) < minNonce || len(nonce) > maxNonce {
		return seal{}, protocol.Refuse(protocol.CodeAuthFailed, "%s: must have %d to %d characters", protocol.HeaderNonce, minNonce,
			maxNonce)
	}
	given, err := hex.DecodeString(signature)
	if err != nil {
		return seal{}, protocol.Refuse(protocol.CodeAuthFailed, "%s: must be hexadecimal", protocol.HeaderSignature)
	}
	signedAt, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return seal{}, protocol.Refuse(protocol.CodeAuthFailed, "%s: must be RFC 3339", protocol.HeaderTimestamp)
	}
	// A restart loses the nonces, so signatures older than the start are stale. Requests of fast clocks may be replayed
	// after a restart.
	isPast := signedAt.Before(now.Add(-protocol.Window)) || signedAt.Before(h.since)
	isFuture := signedAt.After(now.Add(protocol.Window))
	if isPast || isFuture {
		return seal{}, protocol.Refuse(protocol.CodeTimestampStale, "the server's time is %s", protocol.Timestamp(now))
	}
	return seal{stamp, nonce, signedAt, given}, nil
}

func (h *handler) verifySeal(request *http.Request, of seal, body []byte) error {
	secrets, err := h.config.Secrets()
	if err != nil {
		return fmt.Errorf("secret: %w", err)
	}
	signed := protocol.Signed{Method: request.Method, Path: request.URL.EscapedPath(), Timestamp: of.stamp, Nonce: of.nonce, Body: body}
	right, asked := false, false
	for _, secret := range secrets {
		if len(secret) == 0 {
			continue // any client could sign with an empty secret
		}
		asked = true
		right = hmac.Equal(signed.MAC(h.config.Algorithm, secret), of.signature) || right
	}
	if !asked {
		return fmt.Errorf("a shared secret is empty; write the one that the clients have into its file")
	}
	if !right {
		return protocol.Refuse(protocol.CodeAuthFailed, "the signature does not match the request and the shared secret")
	}
	// Only now, so that only clients with the secret take memory.
	return h.nonces.useNonce(of.nonce, of.timestamp.Add(protocol.Window), h.config.Now())
}

type nonces struct {
	maxEntries int

	mu       sync.Mutex
	expiries map[[sha256.Size]byte]time.Time
	swept    time.Time
}

func (n *nonces) useNonce(nonce string, until, now time.Time) error {
	key := sha256.Sum256([]byte(nonce))
	n.mu.Lock()
	defer n.mu.Unlock()
	if now.Sub(n.swept) >= sweepEvery || len(n.expiries) >= n.maxEntries && now.Sub(n.swept) >= time.Second {
		n.swept = now
		for key, until := range n.expiries {
			if until.Before(now) {
				delete(n.expiries, key)
			}
		}
	}
	if seen, ok := n.expiries[key]; ok && !seen.Before(now) {
		return protocol.Refuse(protocol.CodeNonceReused, "sign every attempt with a nonce of its own")
	}
	if len(n.expiries) >= n.maxEntries {
		// A forgotten nonce could be used again.
		return protocol.Refuse(protocol.CodeRateLimited, "more requests within %s than the server can remember", protocol.Window)
	}
	n.expiries[key] = until
	return nil
}
