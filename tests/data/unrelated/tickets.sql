-- dump of the ticket system
CREATE TABLE tickets (id integer, title text, body text, closed boolean);
INSERT INTO tickets VALUES (1, 'server died', 'RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB', true);
INSERT INTO tickets VALUES (2, 'kernel', 'Out of memory: Killed process 4711 (python3) total-vm:123kB', true);
INSERT INTO tickets VALUES (3, 'disk', 'OSError: [Errno 28] No space left on device: ''/var/log/x''', false);
INSERT INTO tickets VALUES (4, 'port', 'ERROR: [Errno 98] error while attempting to bind on address (''0.0.0.0'', 8000): address already in use', false);
COMMIT;
