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
	"slices"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/client/externaldns/contract"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// exchangeTime is longer than the 15 seconds that external-dns itself waits.
const exchangeTime = 20 * time.Second

// callProvider sends a request and decodes the response. If result is nil, no content is expected.
func (b *Backend) callProvider(ctx context.Context, method, path string, body, result any) (media string, err error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return "", err
		}
		content = bytes.NewReader(text)
	}
	// The provider continues without its client, and the next request must not overlap.
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
	if result == nil {
		want = http.StatusNoContent
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, contract.MaxBody+1))
	switch {
	case answer.StatusCode == http.StatusTooManyRequests:
		return "", protocol.Refuse(protocol.CodeRateLimited, "the external-dns provider limits requests")
	case answer.StatusCode != want:
		return "", fmt.Errorf("external-dns provider: %s /%s is answered %d, want %d; its log says why", method, path,
			answer.StatusCode, want)
	case len(text) > contract.MaxBody:
		return "", fmt.Errorf("external-dns provider: %s /%s is answered with more than %d octets; give it a --domain-filter",
			method, path, contract.MaxBody)
	case err == nil && result != nil:
		err = json.Unmarshal(text, result)
	}
	if err != nil {
		err = fmt.Errorf("external-dns provider: the answer to %s /%s: %w; see that --external-dns-url names a webhook provider",
			method, path, err)
	}
	return answer.Header.Get("Content-Type"), err
}

// ListedTypes are the types that the providers of the large clouds list.
var ListedTypes = []rdata.Type{rdata.A, rdata.AAAA, rdata.CNAME, rdata.DNAME, rdata.MX, rdata.NS, rdata.SRV, rdata.TXT}

type listedRRset struct {
	listed contract.Endpoint
	// data is sorted; ttl is 0 if not listed.
	data []string
	ttl  uint32
	// foreign is the reason why the listing is no RRset, or "".
	foreign string
}

type listing map[contract.Key]listedRRset

func makeListing(endpoints []contract.Endpoint, plainText bool) listing {
	all := make(listing, len(endpoints))
	for _, e := range endpoints {
		key, err := e.Key()
		if err != nil {
			continue
		}
		s, there := all[key]
		if there {
			// Some providers list each value as an endpoint.
			s.listed.Targets = slices.Concat(s.listed.Targets, e.Targets)
		} else {
			s.listed = e
		}
		switch data, fault := dataOf(&e, key.Type, plainText); {
		case e.SetIdentifier != "":
			s.foreign = fmt.Sprintf("it has the set identifier %q, which belongs to a routing policy", e.SetIdentifier)
		case fault != nil:
			s.foreign = fmt.Sprintf("its targets are no data of the type %s, such as those of an alias", key.Type)
		default:
			s.data = sorted(append(s.data, data...))
			s.ttl = uint32(min(max(e.RecordTTL, 0), 1<<31-1))
		}
		all[key] = s
	}
	return all
}

func dataOf(e *contract.Endpoint, t rdata.Type, plainText bool) ([]string, error) {
	if len(e.Targets) == 0 {
		return nil, fmt.Errorf("%s %s has no targets", e.DNSName, t)
	}
	var all []string
	for _, target := range e.Targets {
		if t == rdata.TXT && (plainText || !strings.HasPrefix(target, `"`)) {
			target = rdata.QuoteText(target)
		}
		value, err := rdata.FromRR(t, target, name.Root)
		if err != nil {
			return nil, err
		}
		all = append(all, value)
	}
	return all, nil
}

func sorted(data []string) []string { return slices.Compact(slices.Sorted(slices.Values(data))) }

func endpointOf(set protocol.RRset, plainText bool) (*contract.Endpoint, error) {
	e := &contract.Endpoint{DNSName: strings.TrimSuffix(set.Name.String(), "."), RecordType: set.Type.String(), RecordTTL: int64(set.TTL)}
	for _, data := range set.Data {
		if set.Type == rdata.TXT {
			// Route 53 reads \DDD as an octal number, others as a decimal.
			text, err := protocol.JoinStrings(data)
			if err != nil || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
				return e, protocol.Refuse(protocol.CodeInvalidValue, "external-dns has no form for octets of a TXT other than printable "+
					"ASCII: its providers read \\DDD in different ways")
			}
			if plainText {
				data = text
			}
		}
		e.Targets = append(e.Targets, contract.FormatTarget(set.Type, data))
	}
	return e, nil
}
