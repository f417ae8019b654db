// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/dial"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/kit/traces"
)

const (
	// maxRetryAfter bounds the delay imposed by a server on a class.
	maxRetryAfter = time.Hour
	quotaRetry    = 10 * time.Minute
	maxForeign    = 200
)

type answer struct {
	status  int
	header  http.Header
	body    []byte
	secrets []string
}

// callServer sends a request after passFence, which may be nil, and returns the answer with any status. If the server
// calls the nonce used, the request is sent once more with another nonce. Errors of passFence are returned unchanged;
// others are *delivery.Error and mean no answer.
func (p *Provider) callServer(ctx context.Context, timeout time.Duration, passFence delivery.Fence, method, path string,
	body []byte) (answer, error) {
	for retried := false; ; retried = true {
		if passFence != nil {
			if err := passFence(ctx); err != nil {
				return answer{}, err
			}
		}
		got, err := p.sendRequest(ctx, timeout, method, path, body)
		if err != nil || retried || !got.saysNonceReused() {
			return got, err
		}
	}
}

func (got answer) saysNonceReused() bool {
	// A list of a zone may have a megabyte.
	if got.status < 300 {
		return false
	}
	var response protocol.Response
	isJSON := json.Unmarshal(got.body, &response) == nil
	return isJSON && response.Error != nil && response.Error.Code == protocol.CodeNonceReused
}

func (p *Provider) boundTimeout(timeout time.Duration) time.Duration {
	if timeout <= 0 {
		return p.config.Timeout
	}
	return min(timeout, p.config.Timeout)
}

// sendRequest sends one request, within timeout and at most Config.Timeout. An answer longer than protocol.MaxBody is
// an error.
func (p *Provider) sendRequest(ctx context.Context, timeout time.Duration, method, path string, body []byte) (answer, error) {
	timeout = p.boundTimeout(timeout)
	attempt, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	request, secrets, err := p.newRequest(attempt, method, p.basePath+path, body)
	if err != nil {
		return answer{}, err
	}

	span := traces.Call(ctx, request)
	response, err := p.client.Do(request)
	traces.End(span, err != nil, "no answer")
	if err != nil {
		return answer{}, p.explainUnreachable(ctx, err, timeout, secrets)
	}
	defer response.Body.Close()

	got := answer{status: response.StatusCode, header: response.Header, secrets: secrets}
	if got.body, err = io.ReadAll(io.LimitReader(response.Body, protocol.MaxBody+1)); err != nil {
		return answer{}, p.explainUnreachable(ctx, err, timeout, secrets)
	}

	if len(got.body) > protocol.MaxBody {
		return answer{}, &delivery.Error{Reason: delivery.ReasonServerError, Code: strconv.Itoa(got.status),
			Message: fmt.Sprintf("the server's answer is longer than %d octets; no answer of the protocol is", protocol.MaxBody)}
	}
	return got, nil
}

// newRequest builds a request with signature and token, and returns the secrets in it, to remove them from texts of the
// server. path is escaped.
func (p *Provider) newRequest(ctx context.Context, method, path string, body []byte) (*http.Request, []string, error) {
	target := *p.base

	unescaped, err := url.PathUnescape(path)
	if err != nil {
		return nil, nil, delivery.Errorf(delivery.ReasonInvalidConfiguration, "server: the path is no percent-encoding: %w", err)
	}
	target.Path, target.RawPath = unescaped, path
	// The signature covers the path as sent, so net/url must not write the path in another form.
	if target.EscapedPath() != path {
		return nil, nil, delivery.Errorf(delivery.ReasonInvalidConfiguration, "server: write the path with percent-encoding")
	}

	var content io.Reader
	if len(body) > 0 {
		content = bytes.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, method, "", content)
	if err != nil {
		return nil, nil, delivery.Errorf(delivery.ReasonInvalidConfiguration, "request: %w", err)
	}

	request.URL, request.Host = &target, target.Host
	request.Header.Set("User-Agent", "kubizone")
	request.Header.Set("Accept", "application/json")
	if content != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	var secrets []string

	if p.config.HMAC != nil {
		secret := p.config.HMAC.Secret
		var nonce [32]byte
		rand.Read(nonce[:])
		signed := protocol.Signed{Method: method, Path: path, Timestamp: protocol.Timestamp(time.Now()),
			Nonce: hex.EncodeToString(nonce[:]), Body: body}
		request.Header.Set(protocol.HeaderTimestamp, signed.Timestamp)
		request.Header.Set(protocol.HeaderNonce, signed.Nonce)
		request.Header.Set(protocol.HeaderSignature, signed.Signature(p.config.HMAC.Algorithm, secret))
		secrets = append(secrets, string(secret), strings.TrimSpace(string(secret)))
	}

	if token := p.config.BearerToken; token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
		secrets = append(secrets, token)
	}
	return request, secrets, nil
}

// explainUnreachable returns the error of a request without an answer. Faults of the address, of TLS or of the host
// concern the whole class, a slow answer only this request.
func (p *Provider) explainUnreachable(ctx context.Context, err error, timeout time.Duration, secrets []string) *delivery.Error {
	var known *delivery.Error
	if errors.As(err, &known) {
		return known
	}
	failure := &delivery.Error{Reason: delivery.ReasonServerUnreachable, Err: errors.New(cleanForeign(err.Error(), secrets))}
	var (
		operation   *net.OpError
		resolution  *net.DNSError
		certificate *tls.CertificateVerificationError
		plain       tls.RecordHeaderError
		alert       tls.AlertError
		late        net.Error
	)

	local, refused := dial.AsLocal(err)
	switch {
	case refused:
		failure.Reason, failure.WholeClass = delivery.ReasonInvalidConfiguration, true
		failure.Message = "server: " + local.Error()
	// The controller gave up. That says nothing about the server.
	case ctx.Err() != nil:
		failure.Message, failure.Err = "given up before the server answered", ctx.Err()
	case errors.As(err, &resolution):
		failure.WholeClass = true
		failure.Message = fmt.Sprintf("server: %s cannot be resolved", p.base.Hostname())
	case errors.As(err, &certificate):
		failure.WholeClass = true
		failure.Message = "server: its certificate is not valid for this host under tls.caBundle, or under the system's authorities"
	case errors.As(err, &plain):
		failure.WholeClass = true
		failure.Message = "server: it does not speak TLS at this address; is it http://?"
	case errors.As(err, &alert):
		failure.WholeClass = true
		failure.Message = "server: it ends the TLS handshake: " + alert.Error()
	case errors.As(err, &operation) && operation.Op == "dial":
		failure.WholeClass = true
		failure.Message = "server: " + operation.Error()
	case errors.As(err, &late) && late.Timeout():
		failure.Message = fmt.Sprintf("no answer within %s", timeout)
	default:
		failure.Message = "the connection broke before there was an answer in HTTP"
	}
	return failure
}

// cleanForeign makes a text of the server fit for a log: without secrets, control characters and excess length.
func cleanForeign(text string, secrets []string) string {
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[secret]")
		}
	}
	text = strings.ToValidUTF8(text, "?")
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > maxForeign {
		text = string(runes[:maxForeign]) + "…"
	}
	return text
}

func quoteServer(refusal *protocol.Error, secrets []string) string {
	text := refusal.Message
	if details := string(refusal.Details); len(details) > len("null") {
		text = strings.TrimSpace(text + " " + details)
	}
	return cleanForeign(text, secrets)
}

func (got answer) readResponse() (response protocol.Response, isProtocol bool, failure *delivery.Error) {
	isProtocol = json.Unmarshal(got.body, &response) == nil && response.Success != nil
	if isProtocol && *response.Success && got.status/100 == 2 {
		return response, true, nil
	}
	if !isProtocol {
		response = protocol.Response{}
	}
	return response, isProtocol, got.explainFailure(response.Error, isProtocol)
}

// explainFailure returns the error of an answer that is no success. refusal is the answer's error, or nil; isProtocol
// is false for an answer that is no JSON of the protocol, as of a proxy. The code decides, or without a code of the
// protocol the status.
func (got answer) explainFailure(refusal *protocol.Error, isProtocol bool) *delivery.Error {
	said := cmp.Or(refusal, &protocol.Error{})
	failure, known := failures[said.Code]
	failure.Code = said.Code
	if !known {
		failure = got.explainStatus(isProtocol)
		failure.Code = strconv.Itoa(got.status)
	}
	switch {
	// INVALID_RECORD with the status 409: another record is at the name.
	case failure.Permanent && got.status == http.StatusConflict:
		failure = conflict
		failure.Code = said.Code
	// INVALID_DOMAIN with the status 404: the provider may get the zone later.
	case failure.Permanent && got.status == http.StatusNotFound:
		failure = failures[protocol.CodeRecordNotFound]
		failure.Code = said.Code
	}
	failure.Detail = quoteServer(said, got.secrets)
	// The wait of a server counts where time can help. Wrong credentials back off as the class does.
	switch failure.Reason {
	case delivery.ReasonRateLimited, delivery.ReasonQuotaExceeded, delivery.ReasonServerError:
		failure.RetryAfter = max(failure.RetryAfter, got.retryAfter())
	}
	return &failure
}

// explainStatus returns the failure of an answer without a code of the protocol.
func (got answer) explainStatus(isProtocol bool) delivery.Error {
	switch code, known := codesOfStatus[got.status]; {
	case known:
		return failures[code]
	case got.status/100 == 3:
		return redirect
	case !isProtocol:
		return foreign
	case got.status == http.StatusConflict:
		return conflict
	case got.status == http.StatusNotFound:
		return failures[protocol.CodeRecordNotFound]
	}
	return failures[protocol.CodeServerError]
}

// failures has the failure of each code. With WholeClass, all zones of the class fail alike, since the failure is about
// the sender of the request.
var failures = map[string]delivery.Error{
	protocol.CodeTimestampStale: {Reason: delivery.ReasonAuthenticationFailed, WholeClass: true,
		Message: "the server rejects the request's timestamp; set both clocks"},
	protocol.CodeNonceReused: {Reason: delivery.ReasonAuthenticationFailed, WholeClass: true,
		Message: "the server rejects new nonces as used, twice in a row; check how it stores nonces"},
	protocol.CodeAuthFailed: {Reason: delivery.ReasonAuthenticationFailed, WholeClass: true,
		Message: "the server rejects the credentials; compare the secret and the algorithm at both ends"},
	protocol.CodeQuotaExceeded: {Reason: delivery.ReasonQuotaExceeded, RetryAfter: quotaRetry,
		Message: "the quota at the provider is used up; raise it or remove records"},
	protocol.CodeRateLimited: {Reason: delivery.ReasonRateLimited, WholeClass: true,
		Message: "the server limits requests; lower spec.requestsPerSecond of the class"},
	protocol.CodeRecordNotFound: {Reason: delivery.ReasonZoneNotFound,
		Message: "the server has no zone for the record; create the zone at the provider"},
	protocol.CodeInvalidRecord: invalid,
	protocol.CodeInvalidValue:  invalid,
	protocol.CodeInvalidDomain: {Reason: delivery.ReasonValidationFailed, Permanent: true,
		Message: "the server refuses the name of the zone or of the record; check that it has the zone. It is asked again when the " +
			"record or the class changes"},
	protocol.CodeServerError: {Reason: delivery.ReasonServerError,
		Message: "the server failed; the controller's log has its answer, and its own log may have more"},
}

var (
	invalid = delivery.Error{Reason: delivery.ReasonValidationFailed, Permanent: true,
		Message: "the server refuses the record; the controller's log has its answer. It is asked again when the record or the " +
			"class changes"}
	conflict = delivery.Error{Reason: delivery.ReasonConflict,
		Message: "the record conflicts with other data of the provider at this name"}
	redirect = delivery.Error{Reason: delivery.ReasonInvalidConfiguration, WholeClass: true,
		Message: "the server redirects, and redirects are not followed; name the final URL in webhook.server"}
	foreign = delivery.Error{Reason: delivery.ReasonServerError, Message: "the answer is not JSON of the protocol; check that " +
		"webhook.server is the URL of a webhook server, with its base path"}
)

// codesOfStatus has the codes for answers of proxies, which know only HTTP.
var codesOfStatus = map[int]string{
	http.StatusBadRequest:            protocol.CodeInvalidRecord,
	http.StatusRequestEntityTooLarge: protocol.CodeInvalidRecord,
	http.StatusUnauthorized:          protocol.CodeAuthFailed,
	http.StatusForbidden:             protocol.CodeAuthFailed,
	http.StatusTooManyRequests:       protocol.CodeRateLimited,
}

func isProtocolCode(code string) bool {
	_, known := failures[code]
	return known
}

func (got answer) retryAfter() time.Duration {
	text := got.header.Get("Retry-After")
	wait := time.Duration(0)
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = time.Until(at)
	}
	return min(max(wait, 0), maxRetryAfter)
}
