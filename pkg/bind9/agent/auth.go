// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Authentication says which clients there are. A request needs one of the ways alone; with none of them no request is
// answered.
type Authentication struct {
	// TokenFile has one token a line: two while one takes the other's place. It is read for each request.
	TokenFile string
	// Review asks Kubernetes for a token; nil: it does not.
	Review *TokenReview
	// Certificates are the names, common or of DNS, of the client certificates that are taken. The TLS configuration
	// of the server verifies them.
	Certificates []string
}

// Identify returns the client of a request. It is the Authenticate of a Config.
func (a *Authentication) Identify(r *http.Request) (string, error) {
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 && len(r.TLS.PeerCertificates) > 0 {
		certificate := r.TLS.PeerCertificates[0]
		for _, named := range append(slices.Clone(certificate.DNSNames), certificate.Subject.CommonName) {
			if named != "" && slices.Contains(a.Certificates, named) {
				return "certificate " + named, nil
			}
		}
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" {
		return "", refuse(http.StatusUnauthorized, "the request has no bearer token, and no certificate that the agent takes")
	}
	if a.TokenFile != "" {
		known, err := a.hasToken(token)
		if err != nil {
			return "", fmt.Errorf("token file: %w", err)
		}
		if known {
			return "token file", nil
		}
	}
	if a.Review != nil {
		return a.Review.identifyToken(r.Context(), r.RemoteAddr, token)
	}
	return "", refuse(http.StatusUnauthorized, "the token is not known")
}

// maxTokenFile bounds the file of tokens, in octets, and minToken is what cannot be guessed, in characters.
const maxTokenFile, minToken = 1 << 16, 16

// ReadTokens reads a file of tokens.
func ReadTokens(path string) ([]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxTokenFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxTokenFile {
		return nil, fmt.Errorf("%s: longer than %d octets", path, maxTokenFile)
	}
	tokens := strings.Fields(string(text))
	if len(tokens) == 0 {
		return nil, fmt.Errorf("%s has no token; write one a line", path)
	}
	for i, token := range tokens {
		if len(token) < minToken {
			return nil, fmt.Errorf("%s: token %d has %d characters; at least %d are needed", path, i+1, len(token), minToken)
		}
	}
	return tokens, nil
}

func (a *Authentication) hasToken(token string) (bool, error) {
	tokens, err := ReadTokens(a.TokenFile)
	given, found := sha256.Sum256([]byte(token)), 0
	for _, one := range tokens {
		known := sha256.Sum256([]byte(one))
		found |= subtle.ConstantTimeCompare(given[:], known[:])
	}
	return found == 1, err
}

// TokenReview asks Kubernetes for the user of a token (authentication.k8s.io/v1).
type TokenReview struct {
	// Server is the URL of the kube-apiserver, and TokenFile has the token of the agent's own ServiceAccount, which may
	// create tokenreviews.
	Server, TokenFile string
	// Audience must be one of the token's.
	Audience string
	// Users are the names that are taken: "system:serviceaccount:NAMESPACE:NAME".
	Users  []string
	Client *http.Client
	Now    func() time.Time

	mu sync.Mutex
	// unknown counts the tokens of each address that have to be reviewed and were not taken before.
	unknown  *limiter
	reviewed map[[sha256.Size]byte]review
}

type review struct {
	user  string // "": refused
	until time.Time
}

const (
	// A token that was taken is not asked for again within takenTime, one that was refused within refusedTime.
	takenTime, refusedTime = time.Minute, 10 * time.Second
	maxReviews             = 1024
	maxReview              = 1 << 20
	// unknownRate and unknownBurst bound the reviews that an address can cause with tokens of its invention, a second.
	unknownRate, unknownBurst = 1, 10
)

func (t *TokenReview) identifyToken(ctx context.Context, remote, token string) (string, error) {
	key := sha256.Sum256([]byte(token))
	now := t.Now()
	t.mu.Lock()
	if t.unknown == nil {
		t.unknown = newLimiter(unknownRate, unknownBurst)
	}
	known, ok := t.reviewed[key]
	unknown := t.unknown
	t.mu.Unlock()
	if !ok || !now.Before(known.until) {
		if known.user == "" {
			if wait := unknown.reserveRequest(remote, now); wait > 0 {
				return "", busy(wait, "more tokens that are not known than %d a second from this address; wait as Retry-After says",
					unknownRate)
			}
		}
		user, err := t.reviewToken(ctx, token)
		if err != nil {
			return "", unavailable(err, "Kubernetes does not review tokens")
		}
		known = review{user, now.Add(takenTime)}
		if user == "" {
			known.until = now.Add(refusedTime)
		}
		t.mu.Lock()
		t.keepReview(key, known)
		t.mu.Unlock()
	}
	if known.user == "" {
		return "", refuse(http.StatusUnauthorized, "the token is not one that the agent takes: it needs the audience %s and one of its "+
			"ServiceAccounts", t.Audience)
	}
	return known.user, nil
}

// keepReview notes a review. Where there are too many, those go first that were refused. The mutex is held.
func (t *TokenReview) keepReview(key [sha256.Size]byte, one review) {
	if len(t.reviewed) >= maxReviews {
		maps.DeleteFunc(t.reviewed, func(_ [sha256.Size]byte, other review) bool { return other.user == "" })
	}
	if t.reviewed == nil || len(t.reviewed) >= maxReviews {
		t.reviewed = map[[sha256.Size]byte]review{}
	}
	t.reviewed[key] = one
}

// reviewToken returns the user of a token, "" for one that is not taken.
func (t *TokenReview) reviewToken(ctx context.Context, token string) (string, error) {
	own, err := os.ReadFile(t.TokenFile) // it is renewed every hour
	if err != nil {
		return "", err
	}
	type spec struct {
		Token     string   `json:"token"`
		Audiences []string `json:"audiences"`
	}
	asked := struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Spec       spec   `json:"spec"`
	}{"authentication.k8s.io/v1", "TokenReview", spec{token, []string{t.Audience}}}
	body, err := json.Marshal(asked)
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(t.Server, "/")+
		"/apis/authentication.k8s.io/v1/tokenreviews", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(own)))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	response, err := t.Client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusCreated && response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("review of a token: HTTP status %d; the agent's ServiceAccount needs the right to create tokenreviews",
			response.StatusCode)
	}
	var answer struct {
		Status struct {
			Authenticated bool     `json:"authenticated"`
			Audiences     []string `json:"audiences"`
			User          struct {
				Username string `json:"username"`
			} `json:"user"`
		} `json:"status"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxReview)).Decode(&answer); err != nil {
		return "", errors.New("review of a token: the answer is not a TokenReview")
	}
	status := answer.Status
	// A server that knows no audiences answers with none: such a token may be meant for any other server.
	if !status.Authenticated || !slices.Contains(status.Audiences, t.Audience) || !slices.Contains(t.Users, status.User.Username) {
		return "", nil
	}
	return status.User.Username, nil
}
