/* Tells which lines of a text are equal but for their digits. Remembers each such shape once; never reads beyond what it was given.
 *
 * The same is done in Python by alike.py, which this only makes faster: what both give is held against each other by the tests.
 * The text is hostile: the hash has a secret key, a search that takes too many steps is given up, and no more is remembered than was asked for.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#define VERSION 2 /* alike.py says the same: to be raised with whatever it asks for */
#define NONE UINT32_MAX /* of a line that is not remembered */
#define MOST_STEPS 64   /* of a search */
#define FIRST_SLOTS 4096

typedef struct {
    uint64_t hash;
    uint32_t at;   /* in the store */
    uint32_t size;
    uint32_t times; /* in the text at hand */
    uint32_t next;  /* where in the order of that text its next line goes */
} Shape;

typedef struct {
    PyObject_HEAD
    uint64_t key[2];
    uint32_t longest; /* bytes of a line that is remembered */
    uint32_t most;    /* bytes of all of them */
    Shape *shapes;
    uint32_t count, room;
    uint32_t *slots; /* number of a shape + 1; 0: free */
    uint32_t mask;
    char *store;
    uint32_t stored, store_room;
    char *zeroed; /* from here on: of the text at hand, kept as it costs more to get memory than to use it */
    uint32_t zeroed_room;
    uint32_t *starts, *of_lines, *met;
    uint32_t starts_room, of_lines_room, met_room, lines, met_count;
    int busy; /* with a text: whatever Python runs meanwhile must not begin with another */
} Table;

static inline uint64_t mixed(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t word_of(const char *at, size_t size)
{
    uint64_t word = 0;
    memcpy(&word, at, size);
    return word;
}

static uint64_t hash_of(const Table *self, const char *at, size_t size)
{
    uint64_t hash = self->key[0] ^ size;
    for (; size > 16; at += 16, size -= 16)
        hash = mixed(word_of(at, 8) ^ hash, word_of(at + 8, 8) ^ self->key[1]);
    if (size > 8) {
        hash = mixed(word_of(at, 8) ^ hash, self->key[1]);
        at += 8, size -= 8;
    }
    return mixed(mixed(word_of(at, size) ^ hash, self->key[1]), self->key[0]);
}

/* More room for one of the arrays (given by where its address is kept), twice as much each time; 0, with an exception, where there is no memory. */
static int grown(void *array, uint32_t *room, size_t wanted, size_t each, size_t first)
{
    size_t larger = *room ? *room : first;
    void *kept, *moved;
    if (wanted <= *room)
        return 1;
    while (larger < wanted)
        larger *= 2;
    memcpy(&kept, array, sizeof kept); /* as bytes: a pointer to something else is not one to void */
    if (larger > UINT32_MAX || larger > SIZE_MAX / each || !(moved = PyMem_RawRealloc(kept, larger * each))) {
        PyErr_NoMemory();
        return 0;
    }
    memcpy(array, &moved, sizeof moved);
    *room = (uint32_t)larger;
    return 1;
}

static int more_slots(Table *self)
{
    size_t slots = self->slots ? ((size_t)self->mask + 1) * 2 : FIRST_SLOTS;
    uint32_t *larger = slots > UINT32_MAX ? NULL : PyMem_RawCalloc(slots, sizeof *larger);
    if (!larger) {
        PyErr_NoMemory();
        return 0;
    }
    PyMem_RawFree(self->slots);
    self->slots = larger;
    self->mask = (uint32_t)(slots - 1);
    for (uint32_t number = 0; number < self->count; number++) {
        uint32_t slot = (uint32_t)self->shapes[number].hash & self->mask;
        while (larger[slot])
            slot = (slot + 1) & self->mask;
        larger[slot] = number + 1;
    }
    return 1;
}

/* The number of a line's shape, which is remembered if it is new; NONE where it cannot be. -1: an exception. */
static int find(Table *self, const char *line, size_t size, uint32_t *found)
{
    uint64_t hash;
    uint32_t slot;
    *found = NONE;
    if (size > self->longest)
        return 0;
    hash = hash_of(self, line, size);
    slot = (uint32_t)hash & self->mask;
    for (int steps = 0; self->slots[slot]; steps++, slot = (slot + 1) & self->mask) {
        const Shape *shape = &self->shapes[self->slots[slot] - 1];
        if (shape->hash == hash && shape->size == size && !memcmp(self->store + shape->at, line, size)) {
            *found = self->slots[slot] - 1;
            return 0;
        }
        if (steps >= MOST_STEPS)
            return 0;
    }
    if ((uint64_t)self->stored + size > self->most)
        return 0;
    if (!grown(&self->shapes, &self->room, (size_t)self->count + 1, sizeof *self->shapes, 1024) ||
        !grown(&self->store, &self->store_room, (size_t)self->stored + size, 1, 1 << 16))
        return -1;
    self->shapes[self->count] = (Shape){hash, self->stored, (uint32_t)size, 0, 0};
    memcpy(self->store + self->stored, line, size);
    self->stored += (uint32_t)size;
    self->slots[slot] = ++self->count;
    *found = self->count - 1;
    return (size_t)self->count * 2 > self->mask && !more_slots(self) ? -1 : 0;
}

/* The text with every digit as 0. */
static int zero(Table *self, const char *text, size_t size)
{
    char *zeroed;
    if (!grown(&self->zeroed, &self->zeroed_room, size, 1, 1 << 16))
        return 0;
    zeroed = self->zeroed;
    for (size_t i = 0; i < size; i++)
        zeroed[i] = (unsigned char)(text[i] - '0') <= 9 ? '0' : text[i];
    return 1;
}

/* Cut that into lines: their shapes, where each begins, and the shapes in the order in which they come. */
static int read_lines(Table *self, size_t size)
{
    size_t at = 0;
    while (at < size) {
        const char *line = self->zeroed + at, *feed = memchr(line, '\n', size - at);
        size_t end = feed ? (size_t)(feed - self->zeroed) + 1 : size;
        size_t wanted = (size_t)self->lines + 2;
        uint32_t shape;
        if ((wanted > self->starts_room && !grown(&self->starts, &self->starts_room, wanted, sizeof *self->starts, 1 << 13)) ||
            (wanted > self->of_lines_room && !grown(&self->of_lines, &self->of_lines_room, wanted, sizeof *self->of_lines, 1 << 13)) ||
            (wanted > self->met_room && !grown(&self->met, &self->met_room, wanted, sizeof *self->met, 1 << 13)) ||
            find(self, line, end - at, &shape) < 0)
            return 0;
        if (shape != NONE && !self->shapes[shape].times++)
            self->met[self->met_count++] = shape;
        self->starts[self->lines] = (uint32_t)at;
        self->of_lines[self->lines++] = shape;
        at = end;
    }
    return 1;
}

static int add_group(PyObject *groups, long shape, uint32_t begin, uint32_t end)
{
    PyObject *group = Py_BuildValue("(lII)", shape, (unsigned int)begin, (unsigned int)end);
    int added = group && !PyList_Append(groups, group);
    Py_XDECREF(group);
    return added;
}

/* The line numbers, shape by shape (those of none at the end), and what belongs to which. */
static int in_groups(Table *self, PyObject *groups, uint32_t *order)
{
    uint32_t at = 0, apart;
    for (uint32_t i = 0; i < self->met_count; i++) {
        Shape *shape = &self->shapes[self->met[i]];
        if (!add_group(groups, (long)self->met[i], at, at + shape->times))
            return 0;
        shape->next = at;
        at += shape->times;
    }
    apart = at;
    for (uint32_t line = 0; line < self->lines; line++)
        order[self->of_lines[line] == NONE ? at++ : self->shapes[self->of_lines[line]].next++] = line;
    return at == apart || add_group(groups, -1, apart, at);
}

PyDoc_STRVAR(grouped_doc, "grouped(text) -> (starts, order, groups)\n\n"
"The lines of a text, those together that are equal but for their ASCII digits. ``starts`` has the offset of each line, and the size of the text, ``order`` the\n"
"numbers of the lines, group by group: both as unsigned 32-bit integers. A group is (shape, begin, end): which places of ``order`` are of the shape with that\n"
"number; shapes are numbered as they come, for as long as the table is not cleared. Lines that are too long, or find no room, are of the shape -1.");

static PyObject *busy_error(void)
{
    PyErr_SetString(PyExc_RuntimeError, "the table is in use");
    return NULL;
}

static PyObject *Table_grouped(Table *self, PyObject *given)
{
    char *text;
    Py_ssize_t size;
    PyObject *starts = NULL, *order = NULL, *groups = NULL, *all = NULL;

    if (PyBytes_AsStringAndSize(given, &text, &size) < 0)
        return NULL;
    if ((uint64_t)size >= INT32_MAX)
        return PyErr_Format(PyExc_OverflowError, "a text of %zd bytes", size);
    if (self->busy)
        return busy_error();
    self->busy = 1;
    self->lines = self->met_count = 0;
    if (zero(self, text, (size_t)size) && read_lines(self, (size_t)size)) {
        starts = PyBytes_FromStringAndSize(NULL, ((Py_ssize_t)self->lines + 1) * (Py_ssize_t)sizeof(uint32_t));
        order = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)self->lines * (Py_ssize_t)sizeof(uint32_t));
        groups = PyList_New(0);
        if (starts && order && groups && in_groups(self, groups, (uint32_t *)PyBytes_AS_STRING(order))) {
            uint32_t end = (uint32_t)size;
            if (self->lines)
                memcpy(PyBytes_AS_STRING(starts), self->starts, self->lines * sizeof end);
            memcpy(PyBytes_AS_STRING(starts) + self->lines * sizeof end, &end, sizeof end);
            all = PyTuple_Pack(3, starts, order, groups);
        }
    }
    for (uint32_t i = 0; i < self->met_count; i++)
        self->shapes[self->met[i]].times = 0;
    self->busy = 0;
    Py_XDECREF(starts);
    Py_XDECREF(order);
    Py_XDECREF(groups);
    return all;
}

static PyObject *Table_clear(Table *self, PyObject *Py_UNUSED(ignored))
{
    if (self->busy)
        return busy_error();
    memset(self->slots, 0, ((size_t)self->mask + 1) * sizeof *self->slots);
    self->count = self->stored = 0;
    Py_RETURN_NONE;
}

static Py_ssize_t Table_length(Table *self)
{
    return self->count;
}

static PyObject *Table_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"key", "longest", "most", NULL};
    const char *key;
    Py_ssize_t key_size;
    unsigned int longest, most;
    Table *self;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "y#II", names, &key, &key_size, &longest, &most))
        return NULL;
    if (key_size != 16) {
        PyErr_SetString(PyExc_ValueError, "the key has 16 bytes");
        return NULL;
    }
    self = (Table *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    memcpy(self->key, key, 16);
    self->key[1] |= 1;
    self->longest = longest;
    self->most = most;
    if (!more_slots(self))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void Table_dealloc(Table *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyMem_RawFree(self->shapes);
    PyMem_RawFree(self->slots);
    PyMem_RawFree(self->store);
    PyMem_RawFree(self->zeroed);
    PyMem_RawFree(self->starts);
    PyMem_RawFree(self->of_lines);
    PyMem_RawFree(self->met);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

PyDoc_STRVAR(cut_doc, "cut(text, starts, numbers, first, last) -> [bytes]\n\n"
"What stands from place ``first`` up to ``last`` of some lines of a text: of those with these ``numbers``. ``starts`` as ``Table.grouped`` gives it.");

/* Whoever gives the numbers may have them at any address. */
static inline uint32_t number_at(const Py_buffer *numbers, size_t place)
{
    uint32_t number;
    memcpy(&number, (const char *)numbers->buf + place * sizeof number, sizeof number);
    return number;
}

/* Of one line; NULL with an exception. */
static PyObject *cut_one(const Py_buffer *text, const Py_buffer *starts, uint32_t number, Py_ssize_t first, Py_ssize_t last)
{
    size_t known = (size_t)starts->len / sizeof number;
    uint64_t from, to, end;
    if (!known || number >= known - 1)
        return PyErr_Format(PyExc_IndexError, "line %u", (unsigned int)number);
    from = (uint64_t)number_at(starts, number) + (uint64_t)first;
    to = (uint64_t)number_at(starts, number) + (uint64_t)last;
    end = number_at(starts, (size_t)number + 1);
    if (to > end)
        to = end;
    if (to > (uint64_t)text->len)
        return PyErr_Format(PyExc_IndexError, "line %u ends beyond the text", (unsigned int)number);
    return from < to ? PyBytes_FromStringAndSize((const char *)text->buf + from, (Py_ssize_t)(to - from)) : PyBytes_FromStringAndSize(NULL, 0);
}

static PyObject *alike_cut(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_buffer text, starts, numbers;
    Py_ssize_t first, last, count;
    PyObject *found = NULL;
    if (!PyArg_ParseTuple(args, "y*y*y*nn", &text, &starts, &numbers, &first, &last))
        return NULL;
    count = numbers.len / (Py_ssize_t)sizeof(uint32_t);
    if (first < 0 || last < first || last > INT32_MAX)
        PyErr_SetString(PyExc_ValueError, "such a place is in no line");
    else
        found = PyList_New(count);
    for (Py_ssize_t i = 0; found && i < count; i++) {
        PyObject *one = cut_one(&text, &starts, number_at(&numbers, (size_t)i), first, last);
        if (one)
            PyList_SET_ITEM(found, i, one);
        else
            Py_CLEAR(found);
    }
    PyBuffer_Release(&text);
    PyBuffer_Release(&starts);
    PyBuffer_Release(&numbers);
    return found;
}

static PyMethodDef module_methods[] = {
    {"cut", alike_cut, METH_VARARGS, cut_doc},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef Table_methods[] = {
    {"grouped", (PyCFunction)Table_grouped, METH_O, grouped_doc},
    {"clear", (PyCFunction)Table_clear, METH_NOARGS, PyDoc_STR("clear()\n\nForget all shapes; the next one is number 0.")},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot Table_slots[] = {
    {Py_tp_new, Table_new},
    {Py_tp_dealloc, Table_dealloc},
    {Py_tp_methods, Table_methods},
    {Py_sq_length, Table_length},
    {Py_tp_doc, (void *)PyDoc_STR("Table(key, longest, most)\n\nShapes of lines: those of up to ``longest`` bytes, ``most`` bytes of all. ``key``: 16 secret bytes.")},
    {0, NULL},
};

static PyType_Spec Table_spec = {"forensics.ruleset._alike.Table", sizeof(Table), 0, Py_TPFLAGS_DEFAULT, Table_slots};

static int exec_module(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&Table_spec);
    if (!type)
        return -1;
    if (PyModule_AddObject(module, "Table", type) < 0) {
        Py_DECREF(type);
        return -1;
    }
    return PyModule_AddIntConstant(module, "VERSION", VERSION);
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, exec_module}, {0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_alike", PyDoc_STR("Lines that are equal but for their digits; see alike.py."), 0, module_methods, module_slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__alike(void)
{
    return PyModuleDef_Init(&module);
}
