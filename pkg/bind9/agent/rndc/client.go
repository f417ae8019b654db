// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rndc

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type Key struct {
	Algorithm string
	MAC       func(parts ...[]byte) []byte
}

var algorithms = map[string]byte{"hmac-sha256": 163, "hmac-sha384": 164, "hmac-sha512": 165}

// Failure is a refused command. Nothing has changed unless Text says so.
type Failure struct {
	Command string
	Err     string // as "not found"
	Text    string
}

func (f *Failure) Error() string {
	err := f.Err
	if f.Text != "" {
		err += ": " + strings.ReplaceAll(f.Text, "\n", "; ")
	}
	return fmt.Sprintf("named refused %s: %s", f.Command, err)
}

// Client sends commands to BIND's control channel, as the program rndc does. It is safe for concurrent use.
type Client struct {
	// Address is from a controls block of named.conf, such as "127.0.0.1:953".
	Address string
	// Keys are tried in turn until named accepts one, because both ends may change keys at different times.
	Keys func() ([]Key, error)
	// Timeout bounds a command; 0 means 30 s.
	Timeout time.Duration
}

// MaxCommand is named's limit of a message in octets, less 512 for the values beside the command.
const MaxCommand = maxMessage - 512

const defaultTimeout = 30 * time.Second

const window = time.Minute

// Call sends a command, such as "zonestatus example.org", and returns named's text. The error is a *Failure if named
// refused the command. After another error named may have run it (R4).
func (c *Client) Call(ctx context.Context, command string) (string, error) {
	keys, err := c.Keys()
	if err != nil {
		return "", fmt.Errorf("control channel: %w", err)
	}
	if len(command) > MaxCommand {
		return "", fmt.Errorf("a command of %d octets: named reads %d; give fewer addresses", len(command), MaxCommand)
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.Timeout, defaultTimeout))
	defer cancel()
	for i, key := range keys {
		session, err := c.openSession(ctx, key)
		// The session sends only "null", so with another key nothing can be done twice (R1).
		if refused := errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, errSignature); refused &&
			i < len(keys)-1 {
			continue
		}
		if err != nil {
			return "", c.nameChannel(ctx, err)
		}
		text, err := session.sendCommand(command)
		return text, c.nameChannel(ctx, errors.Join(err, session.close()))
	}
	panic("not reached: there is a last key")
}

// openSession connects, and sends the command "null" to get the nonce for the next command. The session ends with ctx.
func (c *Client) openSession(ctx context.Context, key Key) (*session, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.Address)
	if err != nil {
		return nil, fmt.Errorf("%w; is named running, and has it a controls block for this address?", err)
	}
	s := &session{conn: conn, key: key, serial: rand.Uint32()}
	// A cancelled ctx must interrupt a read in progress.
	s.stop = context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	if _, err := s.sendCommand("null"); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// nameChannel adds address and remedy to an error. A *Failure and nil are returned as they are.
func (c *Client) nameChannel(ctx context.Context, err error) error {
	var failure *Failure
	switch {
	case err == nil || errors.As(err, &failure):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("control channel %s: named closed the connection: it does not accept the agent's key or address, or the "+
			"clocks differ by more than a minute", c.Address)
	case ctx.Err() != nil:
		return fmt.Errorf("control channel %s: no answer in time: %w", c.Address, context.Cause(ctx))
	}
	return fmt.Errorf("control channel %s: %w", c.Address, err)
}

type session struct {
	conn   net.Conn
	key    Key
	serial uint32
	nonce  string
	stop   func() bool
}

func (s *session) close() error {
	s.stop()
	return s.conn.Close()
}

// sendCommand sends a signed command with the session's serial number and nonce, and returns named's text. Both clocks
// must differ by less than a minute, the validity of the message.
func (s *session) sendCommand(command string) (string, error) {
	s.serial++
	serial := strconv.FormatUint(uint64(s.serial), 10)
	now := time.Now()
	control := table{
		{"_ser", []byte(serial)},
		{"_tim", []byte(strconv.FormatInt(now.Unix(), 10))},
		{"_exp", []byte(strconv.FormatInt(now.Add(window).Unix(), 10))},
	}
	if s.nonce != "" {
		control = append(control, element{"_nonce", []byte(s.nonce)})
	}
	if _, err := s.conn.Write(s.key.sign(table{{"_ctrl", control}, {"_data", table{{"type", []byte(command)}}}})); err != nil {
		return "", err
	}
	message, err := readMessage(s.conn)
	if err != nil {
		return "", err
	}
	answer, err := s.key.verifyMessage(message)
	if err != nil {
		return "", err
	}
	return s.judgeAnswer(answer, serial, command)
}

// readMessage reads a message without its length. An announced length above maxAnswer is an error.
func readMessage(from io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(head[:])
	if length > maxAnswer {
		return nil, fmt.Errorf("an answer of %d octets: %d are read", length, maxAnswer)
	}
	// The buffer grows with received octets, not with the announced length.
	message, err := io.ReadAll(io.LimitReader(from, int64(length)))
	if err == nil && len(message) < int(length) {
		err = io.ErrUnexpectedEOF
	}
	return message, err
}

func (s *session) judgeAnswer(answer table, serial, command string) (string, error) {
	control := answer.find("_ctrl")
	replied, _ := control.text("_rpl")
	of, _ := control.text("_ser")
	nonce, _ := control.text("_nonce")
	// An answer recorded from an earlier session has another serial or nonce (R2).
	if replied != "1" || of != serial || nonce == "" || nonce != cmp.Or(s.nonce, nonce) {
		return "", errors.New("the answer belongs to another question")
	}
	// named keeps a nonce for the connection. The first answer sets it.
	s.nonce = nonce
	data := answer.find("_data")
	text, _ := data.text("text")
	if refusal, refused := data.text("err"); refused {
		return "", &Failure{Command: strings.Fields(command)[0], Err: refusal, Text: text}
	}
	return text, nil
}
