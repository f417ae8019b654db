// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
)

// Codes of errors.
const (
	CodeInvalidRecord  = "INVALID_RECORD"
	CodeInvalidDomain  = "INVALID_DOMAIN"
	CodeInvalidValue   = "INVALID_VALUE"
	CodeRecordNotFound = "RECORD_NOT_FOUND"
	CodeServerError    = "SERVER_ERROR"
	CodeAuthFailed     = "AUTH_FAILED"
	CodeTimestampStale = "TIMESTAMP_STALE"
	CodeNonceReused    = "NONCE_REUSED"
	CodeRateLimited    = "RATE_LIMITED"
	CodeQuotaExceeded  = "QUOTA_EXCEEDED"
)

// Error is the error of an answer.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// Details are any JSON that a server adds.
	Details json.RawMessage `json:"details,omitempty"`
	// Status is the HTTP status that goes with it, 0: the one of the code.
	Status int `json:"-"`
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// HTTPStatus is the status that an answer with this error has.
func (e *Error) HTTPStatus() int {
	if e.Status != 0 {
		return e.Status
	}
	switch e.Code {
	case CodeInvalidRecord, CodeInvalidDomain, CodeInvalidValue:
		return http.StatusBadRequest
	case CodeRecordNotFound:
		return http.StatusNotFound
	case CodeAuthFailed, CodeTimestampStale, CodeNonceReused:
		return http.StatusUnauthorized
	case CodeRateLimited, CodeQuotaExceeded:
		return http.StatusTooManyRequests
	}
	return http.StatusInternalServerError
}

// Refuse makes an Error.
func Refuse(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Operations of a request.
const (
	Upsert = "upsert"
	Delete = "delete"
)

// Request is the body of POST /records, with the operation Upsert, and one item of a batch.
type Request struct {
	Record    Record `json:"record"`
	Operation string `json:"operation"`
}

// Response answers every request but those for health and batches. Success is absent in what is not the protocol's.
type Response struct {
	Success *bool   `json:"success"`
	Record  *Record `json:"record,omitempty"`
	Error   *Error  `json:"error,omitempty"`
	Message string  `json:"message,omitempty"`
}

// Health answers GET /health.
type Health struct {
	// Status is Healthy or anything else.
	Status    string `json:"status"`
	Message   string `json:"message,omitempty"`
	Timestamp string `json:"timestamp"`
	// Features are extensions that the server has.
	Features []string `json:"features,omitempty"`
}

// Healthy is the Status of a server that works.
const Healthy = "healthy"

// Extensions, negotiated by Health.Features.
const (
	// FeatureBatch: POST /records/batch takes a Batch.
	FeatureBatch = "batch"
	// FeatureValueMetadata: the metadata of a record may be an array beside its values.
	FeatureValueMetadata = "value-metadata"
	// FeaturePresentation: the format of a record may be Presentation.
	FeaturePresentation = "presentation"
)

// Batch is the body of POST /records/batch. Its items are carried out in their order, each by itself: one that fails
// stops no other. The record of a Delete has no values.
type Batch struct {
	Operations []Request `json:"operations"`
}

// BatchResponse answers a batch that was taken: one result for each item, in their order. Success: all succeeded. A
// batch that was not taken is answered by a Response.
type BatchResponse struct {
	Success *bool         `json:"success"`
	Results []BatchResult `json:"results"`
}

// BatchResult is the answer that an item would have had alone.
type BatchResult struct {
	Status int `json:"status"`
	Response
}

const (
	// MaxBatch is the most items of a batch.
	MaxBatch = 100
	// MaxBody is the most octets of a body, either way.
	MaxBody = 1 << 20
)

// Marshal is value as compact JSON in which "<", ">" and "&" stand for themselves.
func Marshal(value any) ([]byte, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(body.Bytes(), []byte{'\n'}), nil
}
