// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package bindcartest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
	"kubi.zone/kubizone/pkg/bind9/agent/rndc"
)

type Bindcar struct {
	// Version is "0.7.3" or "0.9.0".
	Version string
	Token   string
	Dir     string // of zone files, shared with named
	Control interface {
		Call(ctx context.Context, command string) (string, error)
	}
	// Limit bounds the rate of requests, without a Retry-After; nil means no limit.
	Limit *rate.Limiter

	mu        sync.Mutex
	destroyed int
	requests  []string
}

func (b *Bindcar) Destroyed() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.destroyed
}

// Requests returns admitted requests as "METHOD PATH".
func (b *Bindcar) Requests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.requests...)
}

var zoneName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$`)

func (b *Bindcar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, protocol.Base)
	switch path {
	case "/health":
		writeAnswer(w, http.StatusOK, map[string]string{"status": "healthy", "version": b.Version})
		return
	case "/ready":
		writeAnswer(w, http.StatusOK, map[string]any{"ready": false, "checks": []string{"rndc: error"}})
		return
	}
	if b.Limit != nil && !b.Limit.AllowN(time.Now(), 1) {
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+b.Token {
		writeAnswer(w, http.StatusUnauthorized, map[string]string{"error": "Unauthorized"})
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests = append(b.requests, r.Method+" "+path)
	zone, rest, _ := strings.Cut(strings.TrimPrefix(path, "/zones/"), "/")
	switch {
	case path == "/server/status":
		text, err := b.Control.Call(r.Context(), "status")
		b.answerCommand(w, http.StatusOK, text, err)
	case path == "/zones" && r.Method == http.MethodPost:
		b.createZone(w, r)
	case rest == "status" && r.Method == http.MethodGet:
		text, err := b.Control.Call(r.Context(), "zonestatus "+zone)
		var failure *rndc.Failure
		if errors.As(err, &failure) && failure.Err == "not found" { // bindcar answers 500 for a zone not loaded
			refuseRequest(w, http.StatusNotFound, "Zone not found")
			return
		}
		b.answerCommand(w, http.StatusOK, text, err)
	case rest == "" && r.Method == http.MethodDelete:
		text, err := b.Control.Call(r.Context(), "delzone "+zone)
		var failure *rndc.Failure
		if errors.As(err, &failure) && failure.Err == "not found" && b.Version >= "0.9" {
			refuseRequest(w, http.StatusNotFound, "Zone not found")
			return
		}
		if err == nil {
			for _, suffix := range []string{".zone", ".zone.jnl"} {
				_ = os.Remove(filepath.Join(b.Dir, zone+suffix)) // as bindcar
			}
		}
		b.answerCommand(w, http.StatusOK, text, err)
	default:
		http.NotFound(w, r)
	}
}

// createZone overwrites the file before asking named (D1).
func (b *Bindcar) createZone(w http.ResponseWriter, r *http.Request) {
	var asked protocol.CreateZone
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, "Failed to parse the request body as JSON", http.StatusBadRequest)
		return
	}
	config := asked.ZoneConfig
	if config.TTL == nil || config.SOA == nil || config.NameServers == nil || config.NameServerIPs == nil {
		http.Error(w, "Failed to deserialize the JSON body into the target type: missing field", http.StatusUnprocessableEntity)
		return
	}
	if !zoneName.MatchString(asked.ZoneName) {
		refuseRequest(w, http.StatusBadRequest, "Invalid zone name")
		return
	}
	block := "{ type " + asked.ZoneType + "; "
	if asked.ZoneType == protocol.Primary {
		path := filepath.Join(b.Dir, asked.ZoneName+".zone")
		if _, err := b.Control.Call(r.Context(), "zonestatus "+asked.ZoneName); err == nil {
			b.destroyed++
		}
		_ = os.Remove(path + ".jnl")
		file := fmt.Sprintf("$TTL %d\n@ IN SOA %s %s 1 3600 600 604800 86400\n", *config.TTL, config.SOA.PrimaryNS, config.SOA.AdminEmail)
		for _, server := range config.NameServers {
			file += "@ IN NS " + server + "\n"
		}
		for _, record := range config.Records {
			file += fmt.Sprintf("%s %d IN %s %s\n", record.Name, *record.TTL, record.Type, record.Value)
		}
		if err := os.WriteFile(path, []byte(file), 0o644); err != nil {
			refuseRequest(w, http.StatusInternalServerError, "Internal server error")
			return
		}
		block += fmt.Sprintf("file %q; ", path)
	} else {
		if len(config.Primaries) == 0 {
			refuseRequest(w, http.StatusBadRequest, "primaries required")
			return
		}
		block += "primaries { "
		for _, text := range config.Primaries {
			if strings.Contains(text, " ") {
				refuseRequest(w, http.StatusBadRequest, "Invalid address")
				return
			}
			if i := strings.LastIndex(text, ":"); i >= 0 {
				text = strings.Trim(text[:i], "[]") + " port " + text[i+1:]
			}
			block += text + "; "
		}
		block += "}; "
	}
	if asked.UpdateKeyName != "" {
		block += fmt.Sprintf("allow-update { key %q; }; ", asked.UpdateKeyName)
	}
	text, err := b.Control.Call(r.Context(), "addzone "+asked.ZoneName+" "+block+"};")
	var failure *rndc.Failure
	if errors.As(err, &failure) && failure.Err == "already exists" {
		refuseRequest(w, http.StatusConflict, "Zone already exists")
		return
	}
	b.answerCommand(w, http.StatusCreated, text, err)
}

func (b *Bindcar) answerCommand(w http.ResponseWriter, status int, text string, err error) {
	if err != nil {
		refuseRequest(w, http.StatusInternalServerError, "Internal server error")
		return
	}
	writeAnswer(w, status, map[string]any{"success": true, "message": "done", "details": text})
}

func refuseRequest(w http.ResponseWriter, status int, text string) {
	writeAnswer(w, status, map[string]any{"error": text, "details": nil})
}

func writeAnswer(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}
