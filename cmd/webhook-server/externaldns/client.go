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
	"kubi.zone/kubizone/pkg/externaldns/contract"
)

// exchangeTime bounds one request: external-dns itself waits for 15 s.
const exchangeTime = 20 * time.Second

// callProvider makes one request, reads the answer, and returns its media type. Without into none is expected.
func (b *Backend) callProvider(ctx context.Context, method, path string, body, into any) (media string, err error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return "", err
		}
		content = bytes.NewReader(text)
	}
	// What the provider began it does not stop when a client is gone, so neither does this: the next request would come
	// beside it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), exchangeTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, b.base.JoinPath(path).String(), content)
	if err != nil {
		return "", err
	}
	request.Header.Set("Accept", contract.MediaType)
	if body != nil {
		request.Header.Set("Content-Type", contract.MediaType)
	}
	answer, err := b.client.Do(request)
	if err != nil {
		return "", fmt.Errorf("external-dns provider: %w", err)
	}
	defer answer.Body.Close()
	want := http.StatusOK
	if into == nil {
		want = http.StatusNoContent
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, contract.MaxBody+1))
	switch {
	case answer.StatusCode == http.StatusTooManyRequests:
		return "", protocol.Refuse(protocol.CodeRateLimited, "the external-dns provider wants fewer requests")
	case answer.StatusCode != want:
		return "", fmt.Errorf("external-dns provider: %s /%s is answered %d, want %d; its log says why", method, path,
			answer.StatusCode, want)
	case len(text) > contract.MaxBody:
		return "", fmt.Errorf("external-dns provider: %s /%s is answered with more than %d octets; give it a --domain-filter",
			method, path, contract.MaxBody)
	case err == nil && into != nil:
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		err = fmt.Errorf("external-dns provider: the answer to %s /%s: %w; see that --external-dns-url names a webhook provider",
			method, path, err)
	}
	return answer.Header.Get("Content-Type"), err
}
