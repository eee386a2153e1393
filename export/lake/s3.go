package lake

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/caret-bpf/caret-bpf/identity"
)

const (
	// DefaultPatience is for how long object storage that does not answer is asked again.
	DefaultPatience = 2 * time.Minute
	// longestPause is that between two attempts.
	longestPause = 30 * time.Second
	// slowestRate is that of an upload which is not given up, in bytes a second.
	slowestRate  = 16 << 10
	leastTimeout = 5 * time.Minute
	// hashKey is under which name objects have their hash.
	hashKey         = "Sha256"
	defaultEndpoint = "https://s3.amazonaws.com"
)

// s3Store is a lake in object storage that speaks S3.
type s3Store struct {
	client         *minio.Client
	bucket, prefix string
	root           *os.Root
	patience       time.Duration
	bandwidth      int64 // 0: not limited
	as             *identity.Identity
}

// openS3 opens BUCKET/PREFIX. Where the storage is and who asks is in the environment variables and files that other
// programs go by.
func openS3(ctx context.Context, target string, options Options) (*s3Store, error) {
	bucket, prefix, _ := strings.Cut(target, "/")
	s := &s3Store{bucket: bucket, prefix: strings.Trim(prefix, "/"), patience: options.Patience, bandwidth: options.Bandwidth, as: options.As}
	if s.patience == 0 {
		s.patience = DefaultPatience
	}
	if err := s.connect(); err != nil {
		return nil, err
	}
	err := s.attempt(ctx, leastTimeout, func(ctx context.Context) error {
		exists, err := s.client.BucketExists(ctx, bucket)
		if err == nil && !exists {
			err = minio.ErrorResponse{Code: "NoSuchBucket", StatusCode: http.StatusNotFound, Message: "there is no bucket " + bucket}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if options.ReadOnly {
		return s, nil
	}
	s.root, err = openStaging(options.Staging, options.As)
	return s, err
}

func (s *s3Store) connect() error {
	endpoint := firstSet("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
	if endpoint == "" {
		endpoint = defaultEndpoint
	}
	at, err := url.Parse(endpoint)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" || strings.Trim(at.Path, "/") != "" {
		return fmt.Errorf("%w: AWS_ENDPOINT_URL is http://HOST:PORT or https://HOST:PORT, not %q", ErrUnreachable, endpoint)
	}
	impatient := &http.Client{Timeout: 2 * time.Second} // most machines have no such service
	keys := credentials.NewChainCredentials([]credentials.Provider{
		new(credentials.EnvAWS), new(credentials.EnvMinio), new(credentials.FileAWSCredentials), &credentials.IAM{Client: impatient},
	})
	given, err := keys.GetWithContext(&credentials.CredContext{Client: impatient})
	if err != nil || given.AccessKeyID == "" {
		return fmt.Errorf("%w: there are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write them to ~/.aws/credentials", ErrUnreachable)
	}
	secure := at.Scheme == "https"
	var transport http.RoundTripper
	if transport, err = minio.DefaultTransport(secure); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if s.bandwidth > 0 {
		transport = limit(transport, s.bandwidth)
	}
	s.client, err = minio.New(at.Host, &minio.Options{
		Creds: keys, Secure: secure, Transport: stayingTransport{transport}, Region: firstSet("AWS_REGION", "AWS_DEFAULT_REGION"),
		MaxRetries: 1, // attempts are counted here
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return nil
}

// firstSet is the value of the first of the environment variables that has one.
func firstSet(variables ...string) string {
	for _, variable := range variables {
		if value := os.Getenv(variable); value != "" {
			return value
		}
	}
	return ""
}

// attempt does something until it succeeds or cannot, or patience is over. Each attempt has so much time. Patience
// counts from the first failure: an upload may take longer than it, and is attempted again nevertheless.
func (s *s3Store) attempt(ctx context.Context, timeout time.Duration, do func(context.Context) error) error {
	var until time.Time
	for pause := s.patience / 256; ; pause = min(2*pause, longestPause) {
		within, cancel := context.WithTimeout(ctx, timeout)
		err := do(within)
		cancel()
		if until.IsZero() {
			until = time.Now().Add(s.patience)
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case isOurs(err):
			return err
		case isNotThere(err):
			return fmt.Errorf("%w: %w", errNotThere, err)
		case isFinal(err):
			return fmt.Errorf("%w: %s refuses: %w", ErrUnreachable, s.client.EndpointURL().Host, err)
		case time.Now().Add(pause).After(until):
			return fmt.Errorf("%w: %s does not answer (%w): publish again when it does, which completes the lake", ErrUnreachable, s.client.EndpointURL().Host, err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func isNotThere(err error) bool {
	var refused minio.ErrorResponse
	return errors.As(err, &refused) && refused.Code == minio.NoSuchKey
}

// isOurs tells of errors that are not the storage's.
func isOurs(err error) bool {
	var local *os.PathError
	return errors.As(err, &local) || errors.Is(err, ErrManifest) || errors.Is(err, errChanged)
}

// passingCodes are those of refusals that may not come again, whatever their status is.
var passingCodes = []string{"RequestTimeout", "IncompleteBody", "BadDigest", "ExpiredToken", "ExpiredTokenException", "OperationAborted", "ConditionalRequestConflict"}

// isFinal tells of an answer that will be the same next time.
func isFinal(err error) bool {
	var refused minio.ErrorResponse
	if errors.As(err, &refused) {
		status := refused.StatusCode
		return status >= 300 && status < 500 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests &&
			!slices.Contains(passingCodes, refused.Code)
	}
	var distrusted *tls.CertificateVerificationError
	return errors.As(err, &distrusted) || errors.Is(err, http.ErrSchemeMismatch)
}

func (s *s3Store) key(name string) string { return path.Join(s.prefix, name) }

func (s *s3Store) put(ctx context.Context, f *stagedFile) error {
	return s.attempt(ctx, s.timeoutOf(f), func(ctx context.Context) error {
		if !f.anew {
			if same, err := s.hasSame(ctx, &f.File); same || err != nil {
				return err
			}
		}
		return s.upload(ctx, f, minio.PutObjectOptions{})
	})
}

// timeoutOf is how long the upload of a file may take. One of limited bandwidth may take twice as long as it has to.
func (s *s3Store) timeoutOf(f *stagedFile) time.Duration {
	rate := int64(slowestRate)
	if s.bandwidth > 0 {
		rate = min(rate, s.bandwidth/2)
	}
	return leastTimeout + time.Duration(f.Bytes/rate)*time.Second
}

func (s *s3Store) swap(ctx context.Context, f *stagedFile, was []byte) error {
	return s.attempt(ctx, s.timeoutOf(f), func(ctx context.Context) error {
		now, tag, err := s.current(ctx, f.Name)
		if err != nil {
			return err
		}
		var options minio.PutObjectOptions
		switch hash := sha256.Sum256(now); {
		case now != nil && hex.EncodeToString(hash[:]) == f.SHA256:
			return nil // by an attempt whose answer was lost
		case (now != nil) != (was != nil), !bytes.Equal(now, was):
			return errChanged
		case was == nil:
			options.SetMatchETagExcept("*")
		default:
			options.SetMatchETag(tag)
		}
		err = s.upload(ctx, f, options)
		var refused minio.ErrorResponse
		if errors.As(err, &refused) {
			switch {
			case refused.StatusCode == http.StatusPreconditionFailed, isNotThere(err):
				return errChanged
			case refused.StatusCode == http.StatusNotImplemented:
				return s.upload(ctx, f, minio.PutObjectOptions{})
			}
		}
		return err
	})
}

// current is what an object has, nil if there is none, with its tag.
func (s *s3Store) current(ctx context.Context, name string) (text []byte, tag string, err error) {
	object, err := s.client.GetObject(ctx, s.bucket, s.key(name), minio.GetObjectOptions{})
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = object.Close() }()
	// Read first, it comes by one request, which also tells its tag: by a second one it may be another object.
	text, err = io.ReadAll(io.LimitReader(object, maxManifest+1))
	if isNotThere(err) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	info, err := object.Stat()
	return append([]byte{}, text...), info.ETag, err
}

// hasSame tells whether the file is there already, as after an attempt that was broken off.
func (s *s3Store) hasSame(ctx context.Context, f *File) (bool, error) {
	info, err := s.client.StatObject(ctx, s.bucket, s.key(f.Name), minio.StatObjectOptions{})
	if isNotThere(err) {
		return false, nil
	}
	return err == nil && info.Size == f.Bytes && info.UserMetadata[hashKey] == f.SHA256, err
}

// upload puts an object in one request: a publisher that is killed leaves no part of it. The storage compares what it
// gets with a checksum.
func (s *s3Store) upload(ctx context.Context, f *stagedFile, options minio.PutObjectOptions) error {
	var file *os.File
	err := s.as.Run(func() (err error) {
		file, err = s.root.Open(f.local)
		return err
	})
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	options.UserMetadata, options.DisableMultipart, options.SendContentMd5 = map[string]string{hashKey: f.SHA256}, true, true
	options.ContentType = "application/json"
	if strings.HasSuffix(f.Name, parquetSuffix) {
		options.ContentType = "application/vnd.apache.parquet"
	}
	info, err := s.client.PutObject(ctx, s.bucket, s.key(f.Name), file, f.Bytes, options)
	if err == nil && info.Size != f.Bytes {
		err = fmt.Errorf("%s has %d bytes of %d", f.Name, info.Size, f.Bytes)
	}
	return err
}

func (s *s3Store) read(ctx context.Context, name string, consume func(io.Reader) error) error {
	return s.attempt(ctx, time.Hour, func(ctx context.Context) error {
		object, err := s.client.GetObject(ctx, s.bucket, s.key(name), minio.GetObjectOptions{})
		if err != nil {
			return err
		}
		defer func() { _ = object.Close() }()
		return consume(object)
	})
}

func (s *s3Store) has(ctx context.Context, name string) (has bool, err error) {
	err = s.attempt(ctx, leastTimeout, func(ctx context.Context) error {
		_, err := s.client.StatObject(ctx, s.bucket, s.key(name), minio.StatObjectOptions{})
		return err
	})
	if errors.Is(err, errNotThere) {
		return false, nil
	}
	return err == nil, err
}

func (s *s3Store) remove(ctx context.Context, name string) error {
	return s.attempt(ctx, leastTimeout, func(ctx context.Context) error {
		return s.client.RemoveObject(ctx, s.bucket, s.key(name), minio.RemoveObjectOptions{})
	})
}

func (s *s3Store) list(ctx context.Context, folder string) (names []string, err error) {
	err = s.attempt(ctx, leastTimeout, func(ctx context.Context) error {
		names = nil
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for object := range s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: s.key(folder) + "/"}) {
			if object.Err != nil {
				return object.Err
			}
			names = append(names, path.Join(folder, path.Base(object.Key)))
		}
		return nil
	})
	return names, err
}

func (s *s3Store) walk(ctx context.Context, folder string) (names []string, err error) {
	err = s.attempt(ctx, time.Hour, func(ctx context.Context) error {
		names = nil
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for object := range s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: s.key(folder) + "/", Recursive: true}) {
			if object.Err != nil {
				return object.Err
			}
			names = append(names, strings.TrimPrefix(strings.TrimPrefix(object.Key, s.prefix), "/"))
		}
		return nil
	})
	return names, err
}

// lock does nothing: object storage has no locks.
func (s *s3Store) lock(context.Context) (unlock func(), err error) { return func() {}, nil }

func (s *s3Store) staging() (root *os.Root, folder string) { return s.root, stagingFolder }

func (s *s3Store) close() error {
	if s.root == nil {
		return nil
	}
	return s.root.Close()
}
