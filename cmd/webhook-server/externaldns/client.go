// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
)

const (
	// mediaType is that of the contract.
	mediaType = "application/external.dns.webhook+json;version=1"
	// maxBody bounds an answer, as external-dns bounds it.
	maxBody = 32 << 20
	// exchangeTime bounds one request: external-dns itself waits for 15 s.
	exchangeTime = 20 * time.Second
)

// callProvider makes one request, and returns the answer and its media type. One with another status than want is an
// error.
func (b *Backend) callProvider(ctx context.Context, method, path string, body any, want int) (text []byte, media string, err error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, "", err
		}
		content = bytes.NewReader(text)
	}
	// What the provider began it does not stop when a client is gone, so neither does this: the next request would come
	// beside it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), exchangeTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, b.base.JoinPath(path).String(), content)
	if err != nil {
		return nil, "", err
	}
	request.Header.Set("Accept", mediaType)
	if body != nil {
		request.Header.Set("Content-Type", mediaType)
	}
	answer, err := b.client.Do(request)
	if err != nil {
		return nil, "", fmt.Errorf("external-dns provider: %w", err)
	}
	defer answer.Body.Close()
	text, err = io.ReadAll(io.LimitReader(answer.Body, maxBody+1))
	switch {
	case answer.StatusCode == http.StatusTooManyRequests:
		return nil, "", protocol.Refuse(protocol.CodeRateLimited, "the external-dns provider wants fewer requests")
	case answer.StatusCode != want:
		return nil, "", fmt.Errorf("external-dns provider: %s %s is answered %d, want %d; its log says why", method, path,
			answer.StatusCode, want)
	case err != nil:
		return nil, "", fmt.Errorf("external-dns provider: %s %s: %w", method, path, err)
	case len(text) > maxBody:
		return nil, "", fmt.Errorf("external-dns provider: %s %s is answered with more than %d octets; give it a --domain-filter",
			method, path, maxBody)
	}
	return text, answer.Header.Get("Content-Type"), nil
}
