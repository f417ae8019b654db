// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
)

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

type Error struct {
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Details json.RawMessage `json:"details,omitempty"`
	// Status is the HTTP status; 0 means the status for Code.
	Status int `json:"-"`
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// HTTPStatus returns Status, or else the status of the Code as in docs/webhook.md.
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

func Refuse(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

const (
	Upsert = "upsert"
	Delete = "delete"
)

// Request is the body of POST /records, with the Operation Upsert, or an item of a batch.
type Request struct {
	Record    Record `json:"record"`
	Operation string `json:"operation"`
}

// Response answers all requests but those for health and batches. Without Success, the answer is not of the protocol.
type Response struct {
	Success *bool   `json:"success"`
	Record  *Record `json:"record,omitempty"`
	Error   *Error  `json:"error,omitempty"`
	Message string  `json:"message,omitempty"`
}

type Health struct {
	Status    string   `json:"status"`
	Message   string   `json:"message,omitempty"`
	Timestamp string   `json:"timestamp"`
	Features  []string `json:"features,omitempty"`
}

const Healthy = "healthy"

const (
	FeatureBatch = "batch"
	// FeatureValueMetadata permits an array as metadata, with an item for each value.
	FeatureValueMetadata = "value-metadata"
	FeaturePresentation  = "presentation"
)

// Batch is the body of POST /records/batch. A failed item stops no other. The record of a Delete has no values.
type Batch struct {
	Operations []Request `json:"operations"`
}

// BatchResponse answers an accepted batch, with results in its order; a Response answers a rejected batch.
type BatchResponse struct {
	Success *bool         `json:"success"`
	Results []BatchResult `json:"results"`
}

type BatchResult struct {
	Status int `json:"status"`
	Response
}

const (
	MaxBatch = 100
	MaxBody  = 1 << 20
)

// Marshal returns compact JSON without escapes of "<", ">" and "&".
func Marshal(value any) ([]byte, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(body.Bytes(), []byte{'\n'}), nil
}
